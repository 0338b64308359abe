// Elementwise kernels. Inputs broadcast to `out`, which has its final shape; any strides; one device. `out`
// may be one of the inputs.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/backend/op_lists.h"

namespace tandem {

/// out and in have one dtype. `parameters` has two entries, or is null for an op without parameters.
using UnarySignature = void(const Tensor& out, const Tensor& in, const Scalar* parameters);
using UnaryKernels = KernelArray<ops::UnaryOps, UnarySignature>;

/// Fused gradients, Op::gradient: out, g and saved have one floating point dtype; parameters as in the
/// forward.
using GradientSignature = void(const Tensor& out, const Tensor& g, const Tensor& saved,
                               const Scalar* parameters);
using GradientKernels = KernelArray<ops::GradientOps, GradientSignature, "_backward">;

/// out, a and b have one dtype; at least one of a and b is a tensor. Integer division by zero throws Error.
using BinarySignature = void(const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter);
using BinaryKernels = KernelArray<ops::BinaryOps, BinarySignature>;
/// out is bool; a and b have one dtype; at least one of them is a tensor.
using CompareKernels =
    KernelArray<ops::CompareOps, void(const Tensor& out, const Operand& a, const Operand& b)>;
/// out, a, b and c have one dtype.
using TernaryKernels =
    KernelArray<ops::TernaryOps, void(const Tensor& out, const Operand& a, const Operand& b, const Operand& c,
                                      const Scalar& parameter)>;

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
