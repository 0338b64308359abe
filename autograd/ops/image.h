// Patches and pixels of images [N, C, H, W], or [C, H, W].
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// [..., C r², H, W] → [..., C, H r, W r]: r² channels become the pixels of a square. And back.
Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor);
Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor);
/// [N, C, ...]: channels as [groups, C / groups], transposed.
Tensor channel_shuffle(const Tensor& self, int64_t groups);

/// The patches that a convolution sees, as columns [N, C kernel_h kernel_w, places]. Lists hold one or two
/// numbers.
Tensor im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation = 1, IntArrayRef padding = 0,
              IntArrayRef stride = 1);
/// The images [N, C, output_size] in which such columns are added at their places.
Tensor col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation = 1,
              IntArrayRef padding = 0, IntArrayRef stride = 1);

}  // namespace tandem
