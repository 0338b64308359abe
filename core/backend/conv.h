// 2-d convolution and its three gradients, of one floating point dtype, on one device. Inputs, outputs, residuals and
// their gradients are all contiguous (NCHW), or all channels-last. Weights are [out_channels, in_channels / groups,
// kernel_h, kernel_w] in the same layout, for the CPU always contiguous.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/backend/sliding_windows.h"
#include "tandem/core/conv_epilogue.h"

namespace tandem {

class KeptWeight;

template <>
struct detail::FloatArgument<const ConvEpilogue<Tensor>&> {
  static bool needed(const ConvEpilogue<Tensor>& e) { return is_half(e.bias) || is_half(e.residual); }
  FloatArgument(const ConvEpilogue<Tensor>& e, bool, bool)
      : value{is_half(e.bias) ? float_copy(e.bias, true) : e.bias,
              is_half(e.residual) ? float_copy(e.residual, true) : e.residual, e.activation} {}
  void store() const {}
  ConvEpilogue<Tensor> value;
};

struct ConvKernels {
  /// out [N, O, P, Q] = epilogue(input [N, C, H, W] * weight). For the CPU, `input` may be row-major beside a
  /// channels-last `out`; CUDA is only asked to add a bias. `kept`, if given, may hold the packed weights between calls.
  Kernel<"conv2d", void(const Tensor& out, const Tensor& input, const Tensor& weight, const ConvEpilogue<Tensor>&,
                        const Conv2dParameters&, KeptWeight* kept)>
      forward;
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
