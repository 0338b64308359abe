// Sampling at the positions of a grid.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/nn/options/image.h"

namespace tandem::nn::functional {

/// Reads input [N, C, H, W] or [N, C, D, H, W] at the positions in grid [N, h, w, 2] or [N, d, h, w, 3], which are in
/// [-1, 1] and begin with the last dimension.
Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& options = {});
/// The grid of an affine map: theta [N, 2, 3] or [N, 3, 4], size of the input.
Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners = false);

}  // namespace tandem::nn::functional
