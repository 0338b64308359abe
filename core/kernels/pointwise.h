// Elementwise kernels. Shapes: inputs broadcast to `out`, which has its final shape; any strides; one device.
// `out` may be one of the inputs.
#pragma once
#include "tandem/core/kernels/arithmetic_ops.h"
#include "tandem/core/kernels/bitwise_ops.h"
#include "tandem/core/kernels/compare_ops.h"
#include "tandem/core/kernels/gradient_ops.h"
#include "tandem/core/kernels/kernel.h"
#include "tandem/core/kernels/ternary_ops.h"
#include "tandem/core/kernels/unary_ops.h"

namespace tandem {

/// out and in of one dtype; `parameters` has two entries, or is null for an op without.
using UnaryKernels =
    KernelArray<UnaryOps, void(const Tensor& out, const Tensor& in, const Scalar* parameters)>;
/// out, g and saved of one dtype; parameters as in the forward.
using GradientKernels = KernelArray<GradientOps, void(const Tensor& out, const Tensor& g, const Tensor& saved,
                                                      const Scalar* parameters)>;
/// out, a and b of one dtype, at least one of a and b a tensor. Integer division by zero throws Error.
using BinarySignature = void(const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter);
struct BinaryKernels {
  const KernelArray<ArithmeticOps, BinarySignature>& arithmetic;
  const KernelArray<BitwiseOps, BinarySignature>& bitwise;
  template <class Op>
  const Kernel<BinarySignature>& get() const {
    if constexpr (contains<Op, BitwiseOps>)
      return bitwise.get<Op>();
    else
      return arithmetic.get<Op>();
  }
};
/// out bool; a and b of one dtype, at least one of them a tensor.
using CompareKernels = KernelArray<CompareOps, void(const Tensor& out, const Operand& a, const Operand& b)>;
/// out, a, b and c of one dtype.
using TernaryKernels = KernelArray<TernaryOps, void(const Tensor& out, const Operand& a, const Operand& b,
                                                    const Operand& c, const Scalar& parameter)>;

struct PointwiseKernels {
  const UnaryKernels& unary;
  const GradientKernels& gradient;
  BinaryKernels binary;
  const CompareKernels& compare;
  const TernaryKernels& ternary;
  /// out = condition ? a : b; condition bool, the others of one dtype, any.
  Kernel<void(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b)> where;
  /// Any two dtypes.
  Kernel<void(const Tensor& out, const Tensor& in)> copy;
  Kernel<void(const Tensor& out, const Scalar& value)> fill;
};

}  // namespace tandem
