// Patches and pixels of images [N, C, H, W] or [C, H, W].
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// [..., C r², H, W] → [..., C, H r, W r]: r² channels become an r × r block of pixels. pixel_unshuffle is
/// the inverse.
Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor);
Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor);
/// [N, C, ...]: views the channels as [groups, C / groups] and transposes them.
Tensor channel_shuffle(const Tensor& self, int64_t groups);

/// The patches seen by a convolution, as columns [N, C kernel_h kernel_w, places]. Lists hold one or two
/// numbers.
Tensor im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation = 1, IntArrayRef padding = 0,
              IntArrayRef stride = 1);
/// The adjoint of im2col: sums such columns into images [N, C, output_size] at their positions.
Tensor col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation = 1,
              IntArrayRef padding = 0, IntArrayRef stride = 1);

}  // namespace tandem
