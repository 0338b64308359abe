// Softmax and its logarithm along one dimension. All tensors row-major, of one shape and dtype (float32 or
// float64); out may be an input.
#pragma once
#include "tandem/core/kernels/kernel.h"

namespace tandem {

struct SoftmaxKernels {
  using Forward = Kernel<void(const Tensor& out, const Tensor& in, int64_t dim)>;
  using Backward = Kernel<void(const Tensor& grad_in, const Tensor& grad, const Tensor& out, int64_t dim)>;
  /// exp(x - max) / Σ exp(x - max)
  Forward softmax;
  /// x - max - log Σ exp(x - max)
  Forward log_softmax;
  /// y (g - Σ g y)
  Backward softmax_backward;
  /// g - exp(y) Σ g
  Backward log_softmax_backward;
};

}  // namespace tandem
