// Elementwise kernels. Inputs broadcast to `out`, which has its final shape; any strides; one device. `out`
// may be one of the inputs.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/backend/op_lists.h"

namespace tandem {

/// out and in have one dtype. `parameters` has two entries, or is null for an op without parameters.
using UnarySignature = void(const Tensor& out, const Tensor& in, const Scalar* parameters);
struct UnaryKernels {
  const KernelArray<RoundingOps, UnarySignature>& rounding;
  const KernelArray<AlgebraicOps, UnarySignature>& algebraic;
  const KernelArray<ExponentialOps, UnarySignature>& exponential;
  const KernelArray<TrigonometricOps, UnarySignature>& trigonometric;
  const KernelArray<ActivationOps, UnarySignature>& activation;
  template <class Op>
  const KernelFunction<UnarySignature>& get() const {
    if constexpr (contains<Op, RoundingOps>)
      return rounding.get<Op>();
    else if constexpr (contains<Op, AlgebraicOps>)
      return algebraic.get<Op>();
    else if constexpr (contains<Op, ExponentialOps>)
      return exponential.get<Op>();
    else if constexpr (contains<Op, TrigonometricOps>)
      return trigonometric.get<Op>();
    else
      return activation.get<Op>();
  }
};

/// Fused gradients, Op::gradient: out, g and saved have one floating point dtype; parameters as in the
/// forward.
using GradientSignature = void(const Tensor& out, const Tensor& g, const Tensor& saved,
                               const Scalar* parameters);
struct GradientKernels {
  const KernelArray<AlgebraicOps, GradientSignature, "_backward">& algebraic;
  const KernelArray<ExponentialOps, GradientSignature, "_backward">& exponential;
  const KernelArray<TrigonometricOps, GradientSignature, "_backward">& trigonometric;
  const KernelArray<ActivationOps, GradientSignature, "_backward">& activation;
  template <class Op>
  const KernelFunction<GradientSignature>& get() const {
    if constexpr (contains<Op, AlgebraicOps>)
      return algebraic.get<Op>();
    else if constexpr (contains<Op, ExponentialOps>)
      return exponential.get<Op>();
    else if constexpr (contains<Op, TrigonometricOps>)
      return trigonometric.get<Op>();
    else
      return activation.get<Op>();
  }
};

/// out, a and b have one dtype; at least one of a and b is a tensor. Integer division by zero throws Error.
using BinarySignature = void(const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter);
struct BinaryKernels {
  const KernelArray<ArithmeticOps, BinarySignature>& arithmetic;
  const KernelArray<BitwiseOps, BinarySignature>& bitwise;
  template <class Op>
  const KernelFunction<BinarySignature>& get() const {
    if constexpr (contains<Op, BitwiseOps>)
      return bitwise.get<Op>();
    else
      return arithmetic.get<Op>();
  }
};
/// out is bool; a and b have one dtype; at least one of them is a tensor.
using CompareKernels = KernelArray<CompareOps, void(const Tensor& out, const Operand& a, const Operand& b)>;
/// out, a, b and c have one dtype.
using TernaryKernels = KernelArray<TernaryOps, void(const Tensor& out, const Operand& a, const Operand& b,
                                                    const Operand& c, const Scalar& parameter)>;

struct PointwiseKernels {
  UnaryKernels unary;
  GradientKernels gradient;
  BinaryKernels binary;
  const CompareKernels& compare;
  const TernaryKernels& ternary;
  /// out = condition ? a : b. condition is bool; the others have one dtype, any.
  Kernel<"where", void(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b)> where;
  /// Any two dtypes.
  Kernel<"copy", void(const Tensor& out, const Tensor& in)> copy;
  Kernel<"fill", void(const Tensor& out, const Scalar& value)> fill;
};

}  // namespace tandem
