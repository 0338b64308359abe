// CPU kernels of unary operations and their gradients. Include it only in unary_N.cpp.
#pragma once
#include "tandem/core/backend/elementwise_kernels.h"
#include "tandem/core/cpu/pointwise/blocks.h"
#include "tandem/core/formulas/unary_ops.h"

namespace tandem::cpu {

/// UnitLoops; `parameters` points to two T.
template <class Op, class T>
void unary_loop(void* to, const void* const* in, int64_t n, const void* parameters) {
  T* out = static_cast<T*>(to);
  const T *x = static_cast<const T*>(in[0]), *pq = static_cast<const T*>(parameters);
  const T p = pq[0], q = pq[1];
  if constexpr (requires(T value) { Op::outside(value); }) {
    int any = 0;  // with a bool, the loop would not be vectorised
    for (int64_t i = 0; i < n; ++i) any |= static_cast<int>(Op::outside(x[i]));
    if (any != 0) [[unlikely]] {
      for (int64_t i = 0; i < n; ++i) out[i] = Op::outside(x[i]) ? Op::exact(x[i]) : ops::apply_unary<Op>(x[i], p, q);
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) out[i] = ops::apply_unary<Op>(x[i], p, q);
}
template <class Op, class T>
void gradient_loop(void* to, const void* const* in, int64_t n, const void* parameters) {
  T* out = static_cast<T*>(to);
  const T *g = static_cast<const T*>(in[0]), *saved = static_cast<const T*>(in[1]),
          *pq = static_cast<const T*>(parameters);
  const T p = pq[0], q = pq[1];
  if constexpr (requires(T value) { Op::exact_gradient(value, value); }) {
    int any = 0;
    for (int64_t i = 0; i < n; ++i) any |= static_cast<int>(Op::outside(saved[i]));
    if (any != 0) [[unlikely]] {
      for (int64_t i = 0; i < n; ++i)
        out[i] =
            Op::outside(saved[i]) ? Op::exact_gradient(g[i], saved[i]) : ops::apply_gradient<Op>(g[i], saved[i], p, q);
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) out[i] = ops::apply_gradient<Op>(g[i], saved[i], p, q);
}

struct UnaryLoops {
  template <class Op, class T>
  static void value(const Tensor& out, const Tensor& in, std::array<T, 2> parameters) {
    elementwise(out, {in}, in.dtype(), unary_loop<Op, T>, parameters.data());
  }
  template <class Op, class T>
  static void gradient(const Tensor& out, const Tensor& g, const Tensor& saved, std::array<T, 2> parameters) {
    elementwise(out, {g, saved}, out.dtype(), gradient_loop<Op, T>, parameters.data());
  }
};

}  // namespace tandem::cpu
