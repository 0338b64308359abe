// 3D convolution, transposed 1D and 3D convolution, and convolution of any of these ranks. Dtypes and
// formula are those of conv2d (conv2d.h), with one dimension more or less. Lists hold one number, or one per dimension.
// Throws Error if shapes, dtypes or devices do not match.
#pragma once
#include <concepts>
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// input [N, C, D, H, W] or [C, D, H, W]; weight [O, C / groups, kernel_d, kernel_h, kernel_w]; bias [O] or undefined.
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
              IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1);
/// The gradients of conv1d and conv3d with respect to their input, as operations: input [N, C, L] or [C, L] with weight
/// [C, O / groups, kernel]; input [N, C, D, H, W] or [C, D, H, W] with weight [C, O / groups, kernel_d, kernel_h,
/// kernel_w]. A size L becomes (L - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1, with
/// output_padding < max(stride, dilation).
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, int64_t groups = 1,
                        IntArrayRef dilation = 1);
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, int64_t groups = 1,
                        IntArrayRef dilation = 1);
/// The convolution, or transposed convolution, whose rank is that of weight. output_padding counts only if transposed.
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                   int64_t groups);

namespace autograd {
/// padding is "valid" (none) or "same" (the output has the input's size; stride must be 1).
Tensor conv3d_padded(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                     std::string_view padding, IntArrayRef dilation, int64_t groups);
}  // namespace autograd

/// conv3d with padding "valid" or "same".
template <std::convertible_to<std::string_view> Padding>
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, const Padding& padding,
              IntArrayRef dilation = 1, int64_t groups = 1) {
  return autograd::conv3d_padded(input, weight, bias, stride, padding, dilation, groups);
}

}  // namespace tandem
