// Batch normalisation; all tensors are contiguous, of one floating point dtype. Inputs are [N, C, S], everything else
// is [C].
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct BatchNormKernels {
  /// Mean and (biased) variance of each channel over N and S; NaN if there are no elements.
  Kernel<"batch_norm_statistics", void(const Tensor& mean, const Tensor& variance, const Tensor& input),
         HalfCalls{.outputs = 2}>
      statistics;
  /// out = (input - mean) / sqrt(variance + eps) weight + bias; weight and bias may be undefined.
  Kernel<"batch_norm", void(const Tensor& out, const Tensor& input, const Tensor& mean, const Tensor& variance,
                            const Tensor& weight, const Tensor& bias, double eps)>
      normalize;
  /// Gradients of batch_norm. An undefined output is not computed. `of_batch`: mean and variance were
  /// computed from input, so the gradient flows through them.
  Kernel<"batch_norm_backward",
         void(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_output,
              const Tensor& input, const Tensor& mean, const Tensor& variance, const Tensor& weight, double eps,
              bool of_batch),
         HalfCalls{.outputs = 3}>
      backward;
  /// running_mean = (1 - momentum) running_mean + momentum mean, the same for the variances with momentum factor, and
  /// batches, if defined, grows by 1. All are contiguous, float32 and on one device; batches is one int64.
  OptionalKernel<"batch_norm_track", void(const Tensor& running_mean, const Tensor& running_var, const Tensor& batches,
                                          const Tensor& mean, const Tensor& variance, double momentum, double factor)>
      track = {};
};

}  // namespace tandem
