// Layer normalisation; all tensors are contiguous, of one floating point dtype. A backend has both kernels or none.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct LayerNormKernels {
  /// out = (input - mean) / sqrt(variance + eps) weight + bias along the rows of input [M, N]; weight and bias are [N]
  /// or undefined. statistics [M, 3]: the rounded mean, what it lacks, 1 / sqrt(variance + eps).
  OptionalKernel<"layer_norm",
                 void(const Tensor& out, const Tensor& statistics, const Tensor& input, const Tensor& weight,
                      const Tensor& bias, double eps),
                 HalfCalls{.outputs = 2}>
      forward;
  /// Gradients of layer_norm. An undefined output is not computed.
  OptionalKernel<"layer_norm_backward",
                 void(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                      const Tensor& grad_output, const Tensor& input, const Tensor& statistics, const Tensor& weight),
                 HalfCalls{.outputs = 3}>
      backward;
};

}  // namespace tandem
