// Fractional max pooling (B. Graham, arXiv:1412.6071): windows of one size at pseudo-random distances.
#pragma once
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem {

/// Input [N, C, H, W] or [C, H, W]; random_samples [N, C, 2] in [0, 1), one number for the width and one for the height
/// of each plane, in this order. kernel_size and output_size hold one or two numbers. Window i begins at
/// floor((i + u) a) - floor(u a) with a = (in - kernel) / (out - 1), the last at in - kernel. Returns the maxima and
/// their positions h * width + w (int64). Throws Error if shapes do not match or the windows do not fit.
std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef output_size,
                                                 const Tensor& random_samples);
/// Input [N, C, D, H, W] or [C, D, H, W]; random_samples [N, C, 3] for depth, height and width, in this order;
/// positions (d * height + h) * width + w. Every size must be at least output_size + kernel_size, as in PyTorch.
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef output_size,
                                                 const Tensor& random_samples);

}  // namespace tandem
