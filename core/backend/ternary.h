// Elementwise kernels of three arguments. They broadcast to `out`, which has its final shape and may be one of them;
// any strides; one device.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

namespace ops {
/// Three arguments and a result of one type (ternary_ops.h).
using TernaryOps = TypeList<struct Addcmul, struct Addcdiv, struct Lerp, struct DivBackward>;
}  // namespace ops

struct TernaryKernels {
  /// out, a, b and c have one dtype.
  KernelArray<ops::TernaryOps,
              void(const Tensor& out, const Operand& a, const Operand& b, const Operand& c, const Scalar& parameter)>
      value;
  /// out = condition ? a : b. condition is bool; the others have one dtype, any.
  Kernel<"where", void(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b), kTakesHalf>
      where;
};

}  // namespace tandem
