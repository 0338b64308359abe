// The loop of two-argument functions: tensors or numbers on either side.
#pragma once
#include "tandem/core/cpu/loop.h"
#include "tandem/core/kernels/kernel.h"

namespace tandem::cpu {

/// binary_run, compiled once for both ways of getting there.
template <class Out, class In, class F>
[[gnu::noinline]] void binary_block(Out* out, int64_t so, const In* a, int64_t sa, const In* b, int64_t sb,
                                    int64_t n, F f) {
  binary_run(out, so, a, sa, b, sb, n, f);
}

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
      binary_block(o + begin, 1, x + begin * sx, sx, y + begin * sy, sy, end - begin, f);
    });
    return;
  }
  parallel_runs(make_plan<3>({&out, a.tensor, b.tensor}), [&](const auto& p, const auto& s, int64_t n) {
    binary_block(reinterpret_cast<Out*>(p[0]), s[0],
                 p[1] != nullptr ? reinterpret_cast<const In*>(p[1]) : &number_a, s[1],
                 p[2] != nullptr ? reinterpret_cast<const In*>(p[2]) : &number_b, s[2], n, f);
  });
}

/// An op applied with or without its parameter.
template <class Op, class T>
T apply_binary(T a, T b, T p) {
  if constexpr (requires { Op::apply(a, b); })
    return Op::apply(a, b);
  else
    return Op::apply(a, b, p);
}

template <class T>
void check_divisor(const Operand& b, const char* operation) {
  bool zero = b.tensor == nullptr && b.scalar.to<T>() == T(0);
  if (b.tensor != nullptr && b.tensor->numel() != 0)
    for_runs(make_plan<1>({b.tensor}), 0, b.tensor->numel(), [&](const auto& p, const auto& s, int64_t n) {
      const T* values = reinterpret_cast<const T*>(p[0]);
      for (int64_t i = 0; i < n; ++i) zero |= values[i * s[0]] == T(0);
    });
  check(!zero, operation, ": integer division by zero");
}

/// Makes the entries of a KernelArray of two-argument ops.
struct BinaryMaker {
  template <class Op>
  static constexpr auto make() {
    return +[](const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter) {
      dispatch(out.dtype(), typename Op::Types{}, Op::name, [&]<class T>(Type<T>) {
        if constexpr (std::is_integral_v<T> && requires { Op::divides; })
          if (out.numel() != 0) check_divisor<T>(b, Op::name);
        const T p = parameter.to<T>();
        binary_typed<T, T>(out, a, b, [p](T x, T y) { return apply_binary<Op, T>(x, y, p); });
      });
    };
  }
};

}  // namespace tandem::cpu
