// Elementwise kernels. Shapes: inputs broadcast to `out`, which has its final shape; any strides; one device.
#pragma once
#include "tandem/core/kernels/binary_ops.h"
#include "tandem/core/kernels/kernel.h"
#include "tandem/core/kernels/unary_ops.h"

namespace tandem {

/// out and in of one dtype; `parameters` has two entries, or is null for an op without.
using UnaryKernels =
    KernelArray<UnaryOps, void(const Tensor& out, const Tensor& in, const Scalar* parameters)>;
/// out, a and b of one dtype.
using BinaryKernels = KernelArray<BinaryOps, void(const Tensor& out, const Operand& a, const Operand& b,
                                                  const Scalar& parameter)>;
/// out bool; a and b of one dtype, at least one of them a tensor.
using CompareKernels = KernelArray<CompareOps, void(const Tensor& out, const Operand& a, const Operand& b)>;

struct PointwiseKernels {
  const UnaryKernels& unary;
  const BinaryKernels& binary;
  const CompareKernels& compare;
  /// Any two dtypes.
  Kernel<void(const Tensor& out, const Tensor& in)> copy;
  Kernel<void(const Tensor& out, const Scalar& value)> fill;
};

}  // namespace tandem
