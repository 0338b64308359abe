// Sampling at positions of a grid, and affine grids (M. Jaderberg et al.: Spatial Transformer Networks, 2015).
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Reads input [N, C, H, W] at the positions (x, y) of grid [N, h, w, 2], or [N, C, D, H, W] at (x, y, z) of
/// [N, d, h, w, 3]: → [N, C, h, w] or [N, C, d, h, w]. -1 and 1 are the centres of the outermost elements with
/// align_corners, else their outer edges. interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic.
/// padding_mode, for positions outside: 0 zeros, 1 the border's values, 2 reflection at the border. Floating point.
/// Throws Error if shapes, dtypes or devices do not match.
Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                    bool align_corners);
Tensor grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                       bool align_corners);
Tensor grid_sampler_3d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                       bool align_corners);

/// The grid of grid_sampler for an affine map: theta [N, 2, 3] with size [N, C, H, W] → [N, H, W, 2], or theta
/// [N, 3, 4] with size [N, C, D, H, W] → [N, D, H, W, 3].
Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners);

}  // namespace tandem
