// Resampling of the last 1, 2 or 3 dimensions of [N, C, ...].
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// Nearest neighbour: reads position floor(i in / out). With scales (here and below), a dimension's positions are
/// computed from its scale in place of out / in, if that is positive, except where PyTorch copies.
Tensor upsample_nearest1d(const Tensor& self, IntArrayRef output_size, optional<double> scales = nullopt);
Tensor upsample_nearest2d(const Tensor& self, IntArrayRef output_size, optional<double> scales_h = nullopt,
                          optional<double> scales_w = nullopt);
Tensor upsample_nearest3d(const Tensor& self, IntArrayRef output_size, optional<double> scales_d = nullopt,
                          optional<double> scales_h = nullopt, optional<double> scales_w = nullopt);
/// Linear interpolation between the neighbours along each dimension. With align_corners the centres of the
/// corner elements are aligned; otherwise the corners of the area are.
Tensor upsample_linear1d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                         optional<double> scales = nullopt);
Tensor upsample_bilinear2d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                           optional<double> scales_h = nullopt, optional<double> scales_w = nullopt);
Tensor upsample_trilinear3d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                            optional<double> scales_d = nullopt, optional<double> scales_h = nullopt,
                            optional<double> scales_w = nullopt);
/// Cubic convolution with four neighbours, A = -0.75 (R. Keys, 1981).
Tensor upsample_bicubic2d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                          optional<double> scales_h = nullopt, optional<double> scales_w = nullopt);

namespace autograd {
enum class Resampling { kNearest, kNearestExact, kLinear, kCubic };
/// Resamples each of the last output_size.size() dimensions separately. scales: empty, or factors used instead of
/// out / in to compute positions where they are positive, except where PyTorch copies. antialias, for kLinear and
/// kCubic: each element is the weighted mean of as many elements as the dimension shrinks by (resize_windows.h).
Tensor resample(const char* operation, const Tensor& self, Resampling kind, IntArrayRef output_size, bool align_corners,
                ArrayRef<double> scales = {}, bool antialias = false);
/// The sizes of the dimensions after [N, C] times their factors, rounded down; self has factors.size() + 2 dimensions.
/// Throws Error for a product that is too large for a size.
std::vector<int64_t> scaled_sizes(const char* operation, const Tensor& self, ArrayRef<double> factors);
/// To the given size, or by the given factors; of the other, none. `count` dimensions are resampled.
Tensor resample_either(const char* operation, const Tensor& self, Resampling kind, std::size_t count,
                       const optional<IntArrayRef>& output_size, bool align_corners,
                       const optional<ArrayRef<double>>& scale_factors);
}  // namespace autograd

// To a size, or by factors: one of the two is missing.
#define TANDEM_UPSAMPLE_NEAREST(f, count)                                                                    \
  template <OptionalDims Size>                                                                               \
  Tensor f(const Tensor& self, const Size& size, const optional<ArrayRef<double>>& factors) {                \
    return autograd::resample_either(#f, self, autograd::Resampling::kNearest, count, size, false, factors); \
  }
TANDEM_UPSAMPLE_NEAREST(upsample_nearest1d, 1)
TANDEM_UPSAMPLE_NEAREST(upsample_nearest2d, 2)
TANDEM_UPSAMPLE_NEAREST(upsample_nearest3d, 3)
#undef TANDEM_UPSAMPLE_NEAREST
#define TANDEM_UPSAMPLE(f, kind, count)                                                                           \
  template <OptionalDims Size>                                                                                    \
  Tensor f(const Tensor& self, const Size& size, bool align_corners, const optional<ArrayRef<double>>& factors) { \
    return autograd::resample_either(#f, self, autograd::Resampling::kind, count, size, align_corners, factors);  \
  }
TANDEM_UPSAMPLE(upsample_linear1d, kLinear, 1)
TANDEM_UPSAMPLE(upsample_bilinear2d, kLinear, 2)
TANDEM_UPSAMPLE(upsample_trilinear3d, kLinear, 3)
TANDEM_UPSAMPLE(upsample_bicubic2d, kCubic, 2)
#undef TANDEM_UPSAMPLE

}  // namespace tandem
