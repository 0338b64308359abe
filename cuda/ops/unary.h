// CUDA kernels of unary operations and their gradients. Include it only in unary_N.cu.
#pragma once
#include "tandem/core/formulas/apply.h"
#include "tandem/core/formulas/unary_ops.h"
#include "tandem/cuda/elementwise.h"
#include "tandem/cuda/ops/unary_parts.h"

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

template <class Op>
void unary(const Tensor& out, const Tensor& in, const Scalar* parameters) {
  dispatch(in.dtype(), typename Op::Types{}, Op::name, [&]<class T>(Type<T>) {
    Unary<Op, T> f{};
    if (parameters != nullptr) f = {parameters[0].to<T>(), parameters[1].to<T>()};
    const Operand x(in);
    elementwise(Op::name, f, out, {&x});
  });
}
template <class Op>
void gradient(const Tensor& out, const Tensor& g, const Tensor& saved, const Scalar* parameters) {
  dispatch(out.dtype(), FloatTypes{}, Op::name, [&]<class T>(Type<T>) {
    Gradient<Op, T> f{};
    if (parameters != nullptr) f = {parameters[0].to<T>(), parameters[1].to<T>()};
    const Operand a(g), b(saved);
    elementwise(Op::name, f, out, {&a, &b});
  });
}

}  // namespace tandem::cuda_impl
