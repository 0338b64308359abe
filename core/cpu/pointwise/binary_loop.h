// CPU kernels of binary operations, with a tensor or a number on either side. The hot ones (floating point add, mul
// and div) have specialised loops for a number on either side and for strides.
#pragma once
#include "tandem/core/backend/elementwise_kernels.h"
#include "tandem/core/cpu/pointwise/blocks.h"
#include "tandem/core/formulas/value.h"

namespace tandem::cpu {

/// binary_run, compiled once for the contiguous and the strided path.
template <class T, class F>
[[gnu::noinline]] void hot_run(T* out, int64_t so, const T* a, int64_t sa, const T* b, int64_t sb, int64_t n, F f) {
  binary_run(out, so, a, sa, b, sb, n, f);
}

/// out = f(a, b).
template <class T, class F>
void hot_binary(const Tensor& out, const Operand& a, const Operand& b, F f) {
  const T number_a = a.tensor == nullptr ? a.scalar.to<T>() : T(),
          number_b = b.tensor == nullptr ? b.scalar.to<T>() : T();
  const auto flat = [&out](const Operand& x) {
    return x.tensor == nullptr || x.tensor->numel() == 1 ||
           (x.tensor->is_contiguous() && x.tensor->numel() == out.numel());
  };
  if (out.is_contiguous() && flat(a) && flat(b)) {
    T* o = out.ptr<T>();
    const T* x = a.tensor != nullptr ? a.tensor->ptr<T>() : &number_a;
    const T* y = b.tensor != nullptr ? b.tensor->ptr<T>() : &number_b;
    const int64_t n = out.numel();
    const int64_t sx = a.tensor != nullptr && (n == 1 || a.tensor->numel() != 1),
                  sy = b.tensor != nullptr && (n == 1 || b.tensor->numel() != 1);
    parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
      hot_run(o + begin, 1, x + begin * sx, sx, y + begin * sy, sy, end - begin, f);
    });
    return;
  }
  const auto plan = make_plan<3>({&out, a.tensor, b.tensor});
  if (crosses(plan, 1) && a.tensor->numel() == out.numel())
    return hot_binary<T>(out, straightened(out, *a.tensor), b, f);
  if (crosses(plan, 2) && b.tensor->numel() == out.numel())
    return hot_binary<T>(out, a, straightened(out, *b.tensor), f);
  parallel_runs(plan, [&](const auto& p, const auto& s, int64_t n) {
    hot_run(reinterpret_cast<T*>(p[0]), s[0], p[1] != nullptr ? reinterpret_cast<const T*>(p[1]) : &number_a, s[1],
            p[2] != nullptr ? reinterpret_cast<const T*>(p[2]) : &number_b, s[2], n, f);
  });
}

/// A UnitLoop; `parameters` points to one In or is null.
template <class Op, class Out, class In>
void binary_loop(void* to, const void* const* in, int64_t n, const void* parameters) {
  Out* out = static_cast<Out*>(to);
  const In *a = static_cast<const In*>(in[0]), *b = static_cast<const In*>(in[1]);
  const In p = parameters != nullptr ? *static_cast<const In*>(parameters) : In();
  for (int64_t i = 0; i < n; ++i) out[i] = ops::apply_binary<Op>(a[i], b[i], p);
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

struct BinaryLoops {
  template <class Op, class T>
  static void value(const Tensor& out, const Operand& a, const Operand& b, T p) {
    if constexpr (std::is_integral_v<T> && requires { Op::divides; })
      if (out.numel() != 0) check_divisor<T>(b, Op::name);
    if constexpr (std::is_floating_point_v<T> && requires { Op::hot; })
      if (out.dtype() == scalar_type_of<T>)
        return hot_binary<T>(out, a, b, [p](T x, T y) { return ops::apply_binary<Op>(x, y, p); });
    elementwise(out, {a, b}, out.dtype(), binary_loop<Op, T, T>, &p);
  }
};

}  // namespace tandem::cpu
