// Softmax and log-softmax along one dimension. The tensors are row-major, of one shape and dtype (float32 or float64);
// out may be an input.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct SoftmaxKernels {
  using Forward = void(const Tensor& out, const Tensor& in, int64_t dim);
  using Backward = void(const Tensor& grad_in, const Tensor& grad, const Tensor& out, int64_t dim);
  /// exp(x - max) / Σ exp(x - max)
  Kernel<"softmax", Forward> softmax;
  /// x - max - log Σ exp(x - max)
  Kernel<"log_softmax", Forward> log_softmax;
  /// y (g - Σ g y)
  Kernel<"softmax_backward", Backward> softmax_backward;
  /// g - exp(y) Σ g
  Kernel<"log_softmax_backward", Backward> log_softmax_backward;
};

}  // namespace tandem
