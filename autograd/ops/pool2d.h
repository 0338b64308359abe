// Pooling of planes, and of rows (1d). Input [N, C, H, W] or [C, H, W], float32 or float64. Lists hold one
// number, or two, height first; an empty stride means the kernel's size. PyTorch's rules for ceil_mode,
// padding and divisors. Throws Error on other ranks, on padding beyond half of the kernel, and where no
// output would be left.
#pragma once
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem {

struct Pool2dParameters;

/// divisor_override, unless it is nullopt, replaces the number of elements of a window.
Tensor avg_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                  optional<int64_t> divisor_override = nullopt);
/// The maximum of each window. Its gradient goes to the first of equal elements.
Tensor max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
/// And the place of each maximum in its plane, h * width + w (int64).
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& self, IntArrayRef kernel_size,
                                                   IntArrayRef stride = {}, IntArrayRef padding = 0,
                                                   IntArrayRef dilation = 1, bool ceil_mode = false);
/// [N, C, L] or [C, L].
Tensor max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
/// Averages to output_size, one number or two: window i of an axis is [floor(i in / out),
/// ceil((i + 1) in / out)).
Tensor adaptive_avg_pool2d(const Tensor& self, IntArrayRef output_size);

/// Of rows [N, C, L] or [C, L].
Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true);
Tensor adaptive_avg_pool1d(const Tensor& self, IntArrayRef output_size);
/// The maxima of adaptive_avg_pool2d's windows, and their places h * width + w.
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, IntArrayRef output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, IntArrayRef output_size);

namespace autograd {
/// Parameters after their checks; `what` is filled with the output's sizes, of self's rank.
Pool2dParameters pool2d_parameters(const char* operation, const Tensor& self, IntArrayRef kernel_size,
                                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                   bool ceil_mode, Dims& out_sizes);
/// A contiguous tensor of any rank >= 2 as [planes, H, W]. Not recorded.
Tensor as_planes(const Tensor& t);
}  // namespace autograd

}  // namespace tandem
