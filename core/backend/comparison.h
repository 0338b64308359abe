// Elementwise comparisons. The arguments broadcast to `out`, which has its final shape; any strides; one device.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/backend/op_lists.h"

namespace tandem {

struct ComparisonKernels {
  /// out is bool; a and b have one dtype; at least one of them is a tensor.
  KernelArray<ops::CompareOps, void(const Tensor& out, const Operand& a, const Operand& b)> value;
};

}  // namespace tandem
