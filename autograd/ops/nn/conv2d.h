// 1D and 2D convolution (cross-correlation), transposed 2D convolution, and the two gradients of conv2d as
// differentiable operations. Floating point (the half types are computed in float32 and rounded once) and complex.
//
//   y[n, o, p, q] = bias[o] + sum over c, r, s of w[o, c, r, s] x[n, group(o) C/groups + c,
//                   p stride - padding + r dilation, q stride - padding + s dilation],   x = 0 outside
//
// An input size H results in the output size (H + 2 padding - dilation (kernel - 1) - 1) / stride + 1. Lists hold one
// number, or one per dimension. Throws Error if shapes, dtypes or devices do not match.
#pragma once
#include <concepts>
#include <string_view>

#include "tandem/core/conv_epilogue.h"
#include "tandem/core/tensor.h"

namespace tandem {

class KeptWeight;
struct Conv2dParameters;

/// input [N, C, H, W] or [C, H, W]; weight [O, C / groups, kernel_h, kernel_w]; bias [O] or undefined.
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
              IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1);
/// input [N, C, L] or [C, L]; weight [O, C / groups, kernel].
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
              IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1);
/// The gradient of conv2d with respect to its input, as an operation: input [N, C, H, W] or [C, H, W]; weight
/// [C, O / groups, kernel_h, kernel_w] → sizes (H - 1) stride - 2 padding + dilation (kernel - 1) +
/// output_padding + 1, with output_padding < max(stride, dilation).
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, int64_t groups = 1,
                        IntArrayRef dilation = 1);

namespace autograd {
/// Returns the parameters; throws Error on a stride, padding or dilation out of range. The caller has checked groups.
Conv2dParameters conv2d_parameters(const char* operation, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                   int64_t groups);

/// Numbers, or "valid" (none), or "same": the output has the input's size; stride must be 1. It refers to its argument.
struct ConvPadding {
  ConvPadding(IntArrayRef list) : numbers(list) {}
  ConvPadding(std::string_view text) : name(text) {}
  IntArrayRef numbers;
  optional<std::string_view> name;
};
/// Applies the activation in place.
Tensor activated_(Tensor output, FusedActivation activation);

/// conv2d, then out.add_(residual) and activated_(), to the bit: in one pass where nothing is recorded, with float32 or
/// float64 and a contiguous residual. Then `kept`, if given, holds the packed weights for later calls; otherwise its
/// contents are freed. `result` is the layout, by default convolution_format()'s; channels-last only where a CPU is
/// faster so and nothing is recorded.
Tensor conv2d_with_epilogue(const Tensor& input, const Tensor& weight, const ConvEpilogue<Tensor>& epilogue,
                            IntArrayRef stride, const ConvPadding& padding, IntArrayRef dilation, int64_t groups,
                            KeptWeight* kept = nullptr, optional<MemoryFormat> result = nullopt);
Tensor conv1d_padded(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                     const ConvPadding& padding, IntArrayRef dilation, int64_t groups);

/// The layout of a convolution's result: the layout of input if it is channels-last, else the weight's.
MemoryFormat convolution_format(const Tensor& input, const Tensor& weight);
/// The gradients of conv2d with respect to its input and to its weight, which have the shape `sizes`. The arguments
/// must be consistent, and dense in `format`, weights on a CPU row-major; they are not checked.
Tensor conv2d_backward_input(const Tensor& grad_output, const Tensor& weight, IntArrayRef sizes,
                             const Conv2dParameters& parameters, MemoryFormat format);
Tensor conv2d_backward_weight(const Tensor& grad_output, const Tensor& input, IntArrayRef sizes,
                              const Conv2dParameters& parameters, MemoryFormat format);
}  // namespace autograd

/// conv2d and conv1d with padding "valid" or "same".
template <std::convertible_to<std::string_view> Padding>
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, const Padding& padding,
              IntArrayRef dilation = 1, int64_t groups = 1) {
  return autograd::conv2d_with_epilogue(input, weight, {.bias = bias}, stride, std::string_view(padding), dilation,
                                        groups);
}
template <std::convertible_to<std::string_view> Padding>
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, const Padding& padding,
              IntArrayRef dilation = 1, int64_t groups = 1) {
  return autograd::conv1d_padded(input, weight, bias, stride, std::string_view(padding), dilation, groups);
}

}  // namespace tandem
