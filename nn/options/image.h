// Options of resampling, patch extraction and pixel shuffling.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/enums.h"
#include "tandem/nn/expanding_array.h"
#include "tandem/nn/options/option.h"

namespace tandem::nn {

/// kNearest, kLinear, kBilinear, kBicubic, kTrilinear, kArea or kNearestExact.
class Interpolation {
 public:
  Interpolation(InterpolationMode mode) : mode_(mode) {}
  Interpolation(init::Nonlinearity) : mode_(InterpolationMode::kLinear) {}
  operator InterpolationMode() const { return mode_; }

 private:
  InterpolationMode mode_;
};

/// Sets either the size or the scale factors of the dimensions after [N, C].
struct UpsampleOptions {
  TANDEM_ARG(optional<std::vector<int64_t>>, size) = nullopt;
  TANDEM_ARG(optional<std::vector<double>>, scale_factor) = nullopt;
  TANDEM_ARG(Interpolation, mode) = kNearest;
  /// Not allowed for kNearest, kNearestExact and kArea.
  TANDEM_ARG(optional<bool>, align_corners) = nullopt;
};
TANDEM_OPTION(PixelShuffleOptions, int64_t, upscale_factor, );
TANDEM_OPTION(PixelUnshuffleOptions, int64_t, downscale_factor, );
struct UnfoldOptions {
  UnfoldOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<2>, kernel_size);
  TANDEM_ARG(ExpandingArray<2>, dilation) = 1;
  TANDEM_ARG(ExpandingArray<2>, padding) = 0;
  TANDEM_ARG(ExpandingArray<2>, stride) = 1;
};
struct FoldOptions {
  FoldOptions(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
      : output_size_(output_size), kernel_size_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<2>, output_size);
  TANDEM_ARG(ExpandingArray<2>, kernel_size);
  TANDEM_ARG(ExpandingArray<2>, dilation) = 1;
  TANDEM_ARG(ExpandingArray<2>, padding) = 0;
  TANDEM_ARG(ExpandingArray<2>, stride) = 1;
};

namespace functional {
struct InterpolateFuncOptions {
  TANDEM_ARG(optional<std::vector<int64_t>>, size) = nullopt;
  TANDEM_ARG(optional<std::vector<double>>, scale_factor) = nullopt;
  TANDEM_ARG(Interpolation, mode) = kNearest;
  TANDEM_ARG(optional<bool>, align_corners) = nullopt;
  /// Computes positions from the ratio of sizes rather than from the given factors.
  TANDEM_ARG(optional<bool>, recompute_scale_factor) = nullopt;
  /// Averages over as many elements as an image shrinks by. For kBilinear and kBicubic.
  TANDEM_ARG(bool, antialias) = false;
};
struct GridSampleFuncOptions {
  /// kBilinear, kNearest or kBicubic.
  TANDEM_ARG(InterpolationMode, mode) = kBilinear;
  /// kZeros, kBorder or kReflection.
  TANDEM_ARG(PaddingMode, padding_mode) = kZeros;
  /// nullopt: false.
  TANDEM_ARG(optional<bool>, align_corners) = nullopt;
};
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;
using UnfoldFuncOptions = UnfoldOptions;
using FoldFuncOptions = FoldOptions;
}  // namespace functional

}  // namespace tandem::nn
