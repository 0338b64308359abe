// 3D pooling and unpooling. Input [N, C, D, H, W] or [C, D, H, W]. Lists hold one number, or three with the depth
// first; an empty stride means the kernel size. Positions are (d * height + h) * width + w (int64). Floating
// point. Throws Error on other ranks, on padding beyond half of the kernel, and if the output would be empty.
#pragma once
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem {

/// divisor_override, unless it is nullopt, replaces the number of elements in a window as the divisor.
Tensor avg_pool3d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true, optional<int64_t> divisor_override = nullopt);
/// The maximum of each window. Its gradient goes to the first of equal elements.
Tensor max_pool3d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
                  IntArrayRef dilation = 1, bool ceil_mode = false);
/// max_pool3d, and the position of each maximum in its volume.
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                                                   IntArrayRef padding = 0, IntArrayRef dilation = 1,
                                                   bool ceil_mode = false);
/// Pooling to output_size. Window i of an axis is [floor(i in / out), ceil((i + 1) in / out)).
Tensor adaptive_avg_pool3d(const Tensor& self, IntArrayRef output_size);
/// The maxima of these windows, and their positions.
std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Tensor& self, IntArrayRef output_size);

/// Writes the elements of self [N, C, h, w] or [C, h, w] at the positions `indices` of max_pool2d_with_indices into
/// zeros of output_size (H, W); the last of equal positions wins. Throws IndexError for a position outside.
Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntArrayRef output_size);
/// The same for volumes. stride and padding are only checked: each holds three numbers, strides above 0.
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, IntArrayRef output_size, IntArrayRef stride,
                    IntArrayRef padding);

}  // namespace tandem
