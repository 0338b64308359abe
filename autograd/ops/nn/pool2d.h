// 2D and 1D pooling. Input [N, C, H, W] or [C, H, W], floating point. Lists hold one number, or two with the
// height first; an empty stride means the kernel size. ceil_mode, padding and divisors follow PyTorch. Throws Error
// on other ranks, on padding beyond half of the kernel, and if the output would be empty.
#pragma once
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem {

struct Pool2dParameters;

/// divisor_override, unless it is nullopt, replaces the number of elements in a window as the divisor.
Tensor avg_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true, optional<int64_t> divisor_override = nullopt);
/// The maximum of each window. Its gradient goes to the first of equal elements.
Tensor max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
                  IntArrayRef dilation = 1, bool ceil_mode = false);
/// max_pool2d, and the position of each maximum in its plane, h * width + w (int64).
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                                                   IntArrayRef padding = 0, IntArrayRef dilation = 1,
                                                   bool ceil_mode = false);
/// Input [N, C, L] or [C, L].
Tensor max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
                  IntArrayRef dilation = 1, bool ceil_mode = false);
/// max_pool1d, and the position of each maximum in its row (int64).
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                                                   IntArrayRef padding = 0, IntArrayRef dilation = 1,
                                                   bool ceil_mode = false);
/// Average pooling to output_size, one number or two. Window i of an axis is [floor(i in / out),
/// ceil((i + 1) in / out)).
Tensor adaptive_avg_pool2d(const Tensor& self, IntArrayRef output_size);

/// Input [N, C, L] or [C, L].
Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true);
Tensor adaptive_avg_pool1d(const Tensor& self, IntArrayRef output_size);
/// The maxima of adaptive_avg_pool2d's windows, and their positions h * width + w.
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, IntArrayRef output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, IntArrayRef output_size);

namespace autograd {
/// Checks the arguments and returns the parameters. Sets out_sizes to the output's sizes, with self's rank.
Pool2dParameters pool2d_parameters(const char* operation, const Tensor& self, IntArrayRef kernel_size,
                                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode,
                                   Dims& out_sizes);
/// The layout in which a tensor is pooled: its own, but row-major if an image has too many elements for CUDA's kernels
/// that are channels-last.
MemoryFormat pool_format(const Tensor& self);
/// The form that the kernels take: a contiguous tensor of rank >= 2 becomes [planes, H, W], a channels-last one stays as
/// it is. Not recorded.
Tensor as_planes(const Tensor& t, MemoryFormat format);
}  // namespace autograd

}  // namespace tandem
