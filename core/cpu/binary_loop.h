// The loop of two-argument functions: tensors or numbers on either side.
#pragma once
#include "tandem/core/cpu/loop.h"
#include "tandem/core/kernels/kernel.h"

namespace tandem::cpu {

/// out = f(a, b) with inputs of type In.
template <class Out, class In, class F>
void binary_typed(const Tensor& out, const Operand& a, const Operand& b, F f) {
  const In number_a = a.tensor == nullptr ? a.scalar.to<In>() : In(),
           number_b = b.tensor == nullptr ? b.scalar.to<In>() : In();
  const auto flat = [&out](const Operand& x) {
    return x.tensor == nullptr || x.tensor->numel() == 1 ||
           (x.tensor->is_contiguous() && x.tensor->numel() == out.numel());
  };
  if (out.is_contiguous() && flat(a) && flat(b)) {
    Out* o = out.ptr<Out>();
    const In* x = a.tensor != nullptr ? a.tensor->ptr<In>() : &number_a;
    const In* y = b.tensor != nullptr ? b.tensor->ptr<In>() : &number_b;
    const int64_t n = out.numel();
    const int64_t sx = a.tensor != nullptr && (n == 1 || a.tensor->numel() != 1),
                  sy = b.tensor != nullptr && (n == 1 || b.tensor->numel() != 1);
    parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
      binary_run(o + begin, 1, x + begin * sx, sx, y + begin * sy, sy, end - begin, f);
    });
    return;
  }
  parallel_runs(make_plan<3>({&out, a.tensor, b.tensor}), [&](const auto& p, const auto& s, int64_t n) {
    binary_run(reinterpret_cast<Out*>(p[0]), s[0],
               p[1] != nullptr ? reinterpret_cast<const In*>(p[1]) : &number_a, s[1],
               p[2] != nullptr ? reinterpret_cast<const In*>(p[2]) : &number_b, s[2], n, f);
  });
}

}  // namespace tandem::cpu
