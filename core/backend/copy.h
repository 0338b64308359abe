// Copies and fills; copy_raw and fill_raw of core/tensor.h call them.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct CopyKernels {
  /// in broadcasts to out, on one device; any two dtypes, any strides.
  Kernel<"copy", void(const Tensor& out, const Tensor& in), kTakesHalf> copy;
  Kernel<"fill", void(const Tensor& out, const Scalar& value), kTakesHalf> fill;
  /// in[i] converted to out[i], between float32 and a half type: row-major tensors of one device, of one dtype in each
  /// list.
  OptionalKernel<"copy_all", void(TensorList out, TensorList in), kTakesHalf> copy_all = {};
};

}  // namespace tandem
