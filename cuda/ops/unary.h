// CUDA kernels of unary operations and their gradients. Include it only in unary_N.cu.
#pragma once
#include "tandem/core/backend/elementwise_kernels.h"
#include "tandem/core/formulas/unary_ops.h"
#include "tandem/cuda/elementwise.h"

namespace tandem::cuda_impl {

template <class Op, class T>
struct Unary {
  using In = T;
  using Out = T;
  T p, q;
  __device__ T operator()(T x) const {
#ifndef __CUDA_ARCH__  // CUDA's functions need no exact() for large arguments
    if constexpr (requires { Op::outside(x); })
      if (Op::outside(x)) return Op::exact(x);
#endif
    return ops::apply_unary<Op>(x, p, q);
  }
};
template <class Op, class T>
struct Gradient {
  using In = T;
  using Out = T;
  T p, q;
  __device__ T operator()(T g, T saved) const {
#ifndef __CUDA_ARCH__
    if constexpr (requires { Op::exact_gradient(g, saved); })
      if (Op::outside(saved)) return Op::exact_gradient(g, saved);
#endif
    return ops::apply_gradient<Op>(g, saved, p, q);
  }
};

struct UnaryLoops {
  template <class Op, class T>
  static void value(const Tensor& out, const Tensor& in, std::array<T, 2> parameters) {
    const Operand x(in);
    elementwise(Op::name, Unary<Op, T>{parameters[0], parameters[1]}, out, {&x});
  }
  template <class Op, class T>
  static void gradient(const Tensor& out, const Tensor& g, const Tensor& saved, std::array<T, 2> parameters) {
    const Operand a(g), b(saved);
    elementwise(Op::name, Gradient<Op, T>{parameters[0], parameters[1]}, out, {&a, &b});
  }
};

}  // namespace tandem::cuda_impl
