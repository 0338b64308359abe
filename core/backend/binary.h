// Elementwise kernels of two arguments. They broadcast to `out`, which has its final shape and may be one of them; any
// strides; one device.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/backend/op_lists.h"

namespace tandem {

/// out, a and b have one dtype; at least one of a and b is a tensor. Integer division by zero throws Error.
using BinarySignature = void(const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter);

struct BinaryKernels {
  KernelArray<ops::BinaryOps, BinarySignature> value;
};

}  // namespace tandem
