// Elementwise kernels of one argument and their gradients. Any strides; one device; out has the inputs' shape and may
// be one of them.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

namespace ops {
/// One argument and a fused gradient (rounding_ops.h has those without).
using GradientOps = TypeList<
    // algebraic_ops.h
    struct Abs, struct Sqrt, struct Rsqrt, struct Reciprocal, struct Square, struct Relu, struct Clamp, struct Hardtanh,
    struct Threshold, struct LeakyRelu, struct Hardsigmoid, struct Hardswish, struct Softsign,
    // exponential_ops.h
    struct Exp, struct Exp2, struct Expm1, struct Log, struct Log2, struct Log10, struct Log1p, struct Erf, struct Erfc,
    // trigonometric_ops.h
    struct Sin, struct Cos, struct Tan, struct Asin, struct Acos, struct Atan, struct Sinh, struct Cosh, struct Tanh,
    struct Asinh, struct Acosh, struct Atanh,
    // activation_ops.h
    struct Sigmoid, struct LogSigmoid, struct Silu, struct Softplus, struct Elu, struct Celu, struct Gelu,
    struct GeluTanh, struct Mish>;
/// One argument.
using UnaryOps = concat_t<GradientOps, TypeList<struct Neg, struct Sign, struct Floor, struct Ceil, struct Round,
                                                struct Trunc, struct Frac, struct BitNot>>;
}  // namespace ops

/// out and in have one dtype. `parameters` has two entries, or is null for an op without parameters.
using UnarySignature = void(const Tensor& out, const Tensor& in, const Scalar* parameters);
/// Fused gradients, Op::gradient: out, g and saved have one floating point dtype; parameters as in the forward.
using GradientSignature = void(const Tensor& out, const Tensor& g, const Tensor& saved, const Scalar* parameters);

struct UnaryKernels {
  KernelArray<ops::UnaryOps, UnarySignature> value;
  KernelArray<ops::GradientOps, GradientSignature, "_backward"> gradient;
};

/// The kernels as templates over the loops of a backend. The source of a table sees these declarations only; unary_N
/// include the definitions (elementwise_kernels.h) and instantiate a part of the operations each, which spreads the
/// time to compile.
///
/// Loops::value<Op, T>(out, in, parameters) computes the elements; `parameters` are two T.
template <class Loops>
struct UnaryMaker {
  template <class Op>
  static void kernel(const Tensor& out, const Tensor& in, const Scalar* parameters);
};
/// Loops::gradient<Op, T>(out, g, saved, parameters) computes the elements; `parameters` are two T.
template <class Loops>
struct GradientMaker {
  template <class Op>
  static void kernel(const Tensor& out, const Tensor& g, const Tensor& saved, const Scalar* parameters);
};
template <class Loops>
constexpr UnaryKernels make_unary_kernels(HalfCalls half = {}) {
  return {.value = decltype(UnaryKernels::value)::from<UnaryMaker<Loops>>(half),
          .gradient = decltype(UnaryKernels::gradient)::from<GradientMaker<Loops>>(half)};
}

}  // namespace tandem
