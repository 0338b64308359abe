// 2-d convolution and its three gradients. All tensors are contiguous, NCHW, of one floating point dtype, on
// one device. Weights are [out_channels, in_channels / groups, kernel_h, kernel_w].
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/backend/sliding_windows.h"

namespace tandem {

class KeptWeight;

/// What a convolution in inference may also do.
struct ConvInference {
  bool relu = false;           ///< at last, out = relu(out)
  KeptWeight* kept = nullptr;  ///< for the packed weights, if given
};

struct ConvKernels {
  /// out [N, O, P, Q] = input [N, C, H, W] * weight + bias ([O] or undefined).
  Kernel<"conv2d", void(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Conv2dParameters&)>
      forward;
  /// The same bits as `forward`, an addition of `residual` (of out's shape, or undefined) and a relu. Returns false,
  /// with nothing done, where this would save nothing. float32 and float64.
  Kernel<"conv2d", bool(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& residual, const Conv2dParameters&, const ConvInference&)>
      forward_inference;
  Kernel<"conv2d_backward_input",
         void(const Tensor& grad_input, const Tensor& grad_output, const Tensor& weight, const Conv2dParameters&)>
      backward_input;
  /// Also computes grad_bias ([O]) unless it is undefined.
  Kernel<"conv2d_backward_weight",
         void(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_output, const Tensor& input,
              const Conv2dParameters&),
         HalfCalls{.outputs = 2}>
      backward_weight;
  /// grad_bias [O]: the sum of grad_output over batch, rows and columns.
  Kernel<"conv2d_backward_bias", void(const Tensor& grad_bias, const Tensor& grad_output)> backward_bias;
};

}  // namespace tandem
