// One-argument functions and their gradients as entries of kernel tables.
#pragma once
#include "tandem/core/cpu/blocks.h"

namespace tandem::cpu {

template <class Op, class T>
TANDEM_HD inline T apply_unary(T x, T p, T q) {
  if constexpr (requires { Op::apply(x); })
    return Op::apply(x);
  else if constexpr (requires { Op::apply(x, p); })
    return Op::apply(x, p);
  else
    return Op::apply(x, p, q);
}
template <class Op, class T>
TANDEM_HD inline T apply_gradient(T g, T saved, T p, T q) {
  if constexpr (requires { Op::gradient(g, saved); })
    return Op::gradient(g, saved);
  else if constexpr (requires { Op::gradient(g, saved, p); })
    return Op::gradient(g, saved, p);
  else
    return Op::gradient(g, saved, p, q);
}

template <class Op, class T>
void unary_loop(T* out, const std::array<const T*, 1>& in, int64_t n, T p, T q) {
  const T* x = in[0];
  if constexpr (requires(T value) { Op::outside(value); }) {
    bool any = false;
    for (int64_t i = 0; i < n; ++i) any |= Op::outside(x[i]);
    if (any) [[unlikely]] {
      for (int64_t i = 0; i < n; ++i)
        out[i] = Op::outside(x[i]) ? Op::exact(x[i]) : apply_unary<Op>(x[i], p, q);
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) out[i] = apply_unary<Op>(x[i], p, q);
}
template <class Op, class T>
void gradient_loop(T* out, const std::array<const T*, 2>& in, int64_t n, T p, T q) {
  const T *g = in[0], *saved = in[1];
  for (int64_t i = 0; i < n; ++i) out[i] = apply_gradient<Op>(g[i], saved[i], p, q);
}

struct UnaryMaker {
  template <class Op>
  static constexpr auto make() {
    return +[](const Tensor& out, const Tensor& in, const Scalar* parameters) {
      dispatch(in.dtype(), typename Op::Types{}, Op::name, [&]<class T>(Type<T>) {
        const bool has = parameters != nullptr;
        elementwise<T, T, 1>(out, {in}, unary_loop<Op, T>, has ? parameters[0].to<T>() : T(),
                             has ? parameters[1].to<T>() : T());
      });
    };
  }
};
struct GradientMaker {
  template <class Op>
  static constexpr auto make() {
    return +[](const Tensor& out, const Tensor& g, const Tensor& saved, const Scalar* parameters) {
      dispatch(out.dtype(), FloatTypes{}, Op::name, [&]<class T>(Type<T>) {
        const bool has = parameters != nullptr;
        elementwise<T, T, 2>(out, {g, saved}, gradient_loop<Op, T>, has ? parameters[0].to<T>() : T(),
                             has ? parameters[1].to<T>() : T());
      });
    };
  }
};

}  // namespace tandem::cpu
