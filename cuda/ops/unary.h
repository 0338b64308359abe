// CUDA kernels of unary operations and their gradients. Include it only in unary_N.cu.
#pragma once
#include "tandem/core/backend/elementwise_kernels.h"
#include "tandem/core/formulas/unary_ops.h"
#include "tandem/cuda/elementwise.h"
#include "tandem/cuda/functors.h"

namespace tandem::cuda_impl {

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
