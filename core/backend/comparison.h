// Elementwise comparisons. The arguments broadcast to `out`, which has its final shape; any strides; one device.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

namespace ops {
/// Two arguments of one type, the result bool (compare_ops.h).
using CompareOps = TypeList<struct Eq, struct Ne, struct Lt, struct Le, struct Gt, struct Ge, struct LogicalAnd,
                            struct LogicalOr, struct LogicalXor, struct AbsLt, struct AbsEq>;
}  // namespace ops

struct ComparisonKernels {
  /// out is bool; a and b have one dtype; at least one of them is a tensor.
  KernelArray<ops::CompareOps, void(const Tensor& out, const Operand& a, const Operand& b)> value;
};

}  // namespace tandem
