// Resampling of the last 1, 2 or 3 dimensions of [N, C, ...].
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The nearest position: floor(i in / out).
Tensor upsample_nearest1d(const Tensor& self, IntArrayRef output_size);
Tensor upsample_nearest2d(const Tensor& self, IntArrayRef output_size);
Tensor upsample_nearest3d(const Tensor& self, IntArrayRef output_size);
/// Between the neighbours along each dimension. align_corners: the centres of the corner elements stay, else
/// the corners of the area do.
Tensor upsample_linear1d(const Tensor& self, IntArrayRef output_size, bool align_corners);
Tensor upsample_bilinear2d(const Tensor& self, IntArrayRef output_size, bool align_corners);
Tensor upsample_trilinear3d(const Tensor& self, IntArrayRef output_size, bool align_corners);
/// Cubic convolution of four neighbours, A = -0.75 (R. Keys, 1981).
Tensor upsample_bicubic2d(const Tensor& self, IntArrayRef output_size, bool align_corners);

namespace autograd {
enum class Resampling { kNearest, kNearestExact, kLinear, kCubic };
/// Each of the last output_size.size() dimensions by itself. scales: empty, or the factors that take the
/// place of out / in where positions are computed.
Tensor resample(const char* operation, const Tensor& self, Resampling kind, IntArrayRef output_size,
                bool align_corners, ArrayRef<double> scales = {});
}  // namespace autograd

}  // namespace tandem
