// Copies and fills; copy_raw and fill_raw of core/tensor.h call them.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct CopyKernels {
  /// in broadcasts to out, on one device; any two dtypes, any strides.
  Kernel<"copy", void(const Tensor& out, const Tensor& in), kTakesHalf> copy;
  Kernel<"fill", void(const Tensor& out, const Scalar& value), kTakesHalf> fill;
};

}  // namespace tandem
