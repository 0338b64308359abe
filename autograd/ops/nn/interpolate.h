// Resampling of the last 1, 2 or 3 dimensions of [N, C, ...].
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Nearest neighbour: reads position floor(i in / out).
Tensor upsample_nearest1d(const Tensor& self, IntArrayRef output_size);
Tensor upsample_nearest2d(const Tensor& self, IntArrayRef output_size);
Tensor upsample_nearest3d(const Tensor& self, IntArrayRef output_size);
/// Linear interpolation between the neighbours along each dimension. With align_corners the centres of the
/// corner elements are aligned; otherwise the corners of the area are.
Tensor upsample_linear1d(const Tensor& self, IntArrayRef output_size, bool align_corners);
Tensor upsample_bilinear2d(const Tensor& self, IntArrayRef output_size, bool align_corners);
Tensor upsample_trilinear3d(const Tensor& self, IntArrayRef output_size, bool align_corners);
/// Cubic convolution with four neighbours, A = -0.75 (R. Keys, 1981).
Tensor upsample_bicubic2d(const Tensor& self, IntArrayRef output_size, bool align_corners);

namespace autograd {
enum class Resampling { kNearest, kNearestExact, kLinear, kCubic };
/// Resamples each of the last output_size.size() dimensions separately. scales: empty, or factors used instead of
/// out / in to compute positions, except where PyTorch copies. antialias, for kLinear and kCubic: each element is the
/// weighted mean of as many elements as the dimension shrinks by (resize_windows.h).
Tensor resample(const char* operation, const Tensor& self, Resampling kind, IntArrayRef output_size, bool align_corners,
                ArrayRef<double> scales = {}, bool antialias = false);
}  // namespace autograd

}  // namespace tandem
