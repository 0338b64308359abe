// Resampling, patch extraction and distances, and the functional form of padding.
#include "tandem/nn/layers/image.h"

#include <utility>

#include "tandem/autograd/ops/linalg/distance.h"
#include "tandem/autograd/ops/nn/image.h"
#include "tandem/autograd/ops/nn/interpolate.h"
#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/autograd/ops/nn/pool2d.h"
#include "tandem/autograd/ops/nn/pool3d.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/nn/enum_names.h"
#include "tandem/nn/functional/image.h"
#include "tandem/nn/layers/print.h"

namespace tandem::nn::functional {
namespace {

const char* name_of(PaddingMode mode) {
  switch (mode) {
    case kConstant:
      return "constant";
    case kReflect:
      return "reflect";
    case kReplicate:
      return "replicate";
    case kCircular:
      return "circular";
    default:
      fail("pad: mode must be kConstant, kReflect, kReplicate or kCircular");
  }
}

std::string listed(const std::vector<double>& factors) {
  std::string text;
  for (const double factor : factors) text += concat(text.empty() ? "[" : ", ", factor);
  return text + "]";
}

std::vector<int64_t> output_size(const Tensor& input, const InterpolateFuncOptions& options) {
  const auto rank = static_cast<std::size_t>(input.dim() - 2);
  check(options.size() || options.scale_factor(), "either size or scale_factor should be defined: interpolate");
  check(!options.size() || !options.scale_factor(), "only one of size or scale_factor should be defined: interpolate");
  std::vector<int64_t> out;
  if (options.size()) {
    out = *options.size();
    if (out.size() == 1) out.resize(rank, out[0]);
  } else {
    const std::vector<double>& factors = *options.scale_factor();
    check(factors.size() == 1 || factors.size() == rank, "scale_factor shape must match input shape. Input is ", rank,
          "D, scale_factor size is ", listed(factors));
    out = autograd::scaled_sizes("interpolate", input,
                                 factors.size() == 1 ? std::vector<double>(rank, factors[0]) : factors);
  }
  check(out.size() == rank, "interpolate: expected ", rank, " sizes, got ", out.size());
  return out;
}

// The resampling for a mode; throws Error if the mode does not support this number of dimensions.
autograd::Resampling resampling(InterpolationMode mode, std::size_t rank) {
  using autograd::Resampling;
  const auto needs = [&](std::size_t n) {
    check(rank == n, "interpolate: this mode requires ", n, " dimensions after [N, C], got ", rank);
  };
  switch (mode) {
    case InterpolationMode::kNearest:
      return Resampling::kNearest;
    case InterpolationMode::kNearestExact:
      return Resampling::kNearestExact;
    case InterpolationMode::kLinear:
      needs(1);
      return Resampling::kLinear;
    case InterpolationMode::kBilinear:
      needs(2);
      return Resampling::kLinear;
    case InterpolationMode::kTrilinear:
      needs(3);
      return Resampling::kLinear;
    default:
      needs(2);
      return Resampling::kCubic;
  }
}

}  // namespace

Tensor pad(const Tensor& input, const PadFuncOptions& options) {
  const bool constant = options.mode() == kConstant || options.mode() == kZeros;
  return tandem::pad(input, options.pad(), name_of(options.mode()),
                     constant || options.value() != 0 ? optional<double>(options.value()) : nullopt);
}

Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options) {
  check(input.dim() >= 3 && input.dim() <= 5, "interpolate: expected [N, C] and 1 to 3 dimensions, got ", input);
  const InterpolationMode mode = options.mode();
  const std::vector<int64_t> size = output_size(input, options);
  if (mode == kArea || mode == kNearest || mode == kNearestExact)
    check(!options.align_corners(),
          "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
          "trilinear");
  check(!options.antialias() || mode == kBilinear || mode == kBicubic,
        "Anti-alias option is only supported for bilinear and bicubic modes");
  if (mode == kArea)
    return size.size() == 1   ? tandem::adaptive_avg_pool1d(input, size)
           : size.size() == 2 ? tandem::adaptive_avg_pool2d(input, size)
                              : tandem::adaptive_avg_pool3d(input, size);
  std::vector<double> scales;
  if (options.scale_factor() && !options.recompute_scale_factor().value_or(false)) {
    scales = *options.scale_factor();
    if (scales.size() == 1) scales.resize(size.size(), scales[0]);
  }
  return autograd::resample("interpolate", input, resampling(mode, size.size()), size,
                            options.align_corners().value_or(false), scales, options.antialias());
}

Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options) {
  return tandem::pixel_shuffle(input, options.upscale_factor());
}
Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options) {
  return tandem::pixel_unshuffle(input, options.downscale_factor());
}
Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options) {
  check(input.dim() == 4, "Input Error: Only 4D input Tensors are supported (got ", input.dim(),
        "D): unfold: expected [N, C, H, W], got ", input);
  return tandem::im2col(input, *options.kernel_size(), *options.dilation(), *options.padding(), *options.stride());
}
Tensor fold(const Tensor& input, const FoldFuncOptions& options) {
  check(input.dim() == 2 || input.dim() == 3,
        "Input Error: Only unbatched (2D) or batched (3D) input Tensors are supported (got ", input.dim(),
        "D): fold: expected [N, C kernel, positions], got ", input);
  return tandem::col2im(input, *options.output_size(), *options.kernel_size(), *options.dilation(), *options.padding(),
                        *options.stride());
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const CosineSimilarityFuncOptions& options) {
  return tandem::cosine_similarity(x1, x2, options.dim(), options.eps());
}
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const PairwiseDistanceFuncOptions& options) {
  return tandem::pairwise_distance(x1, x2, options.p(), options.eps(), options.keepdim());
}
Tensor pdist(const Tensor& input, double p) { return tandem::pdist(input, p); }
Tensor normalize(const Tensor& input, const NormalizeFuncOptions& options) {
  const Tensor size = input.norm(Scalar(options.p()), {options.dim()}, true);
  const Tensor divisor = size.clamp_min(Scalar(options.eps()));
  Tensor result = input / divisor;
  if (!options.out()) return result;
  result = result.detach();
  return options.out()->resize_(result.sizes()).copy_(result);
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

Tensor UpsampleImpl::forward(const Tensor& input) {
  return functional::interpolate(input, functional::InterpolateFuncOptions()
                                            .size(options.size())
                                            .scale_factor(options.scale_factor())
                                            .mode(options.mode())
                                            .align_corners(options.align_corners()));
}
void UpsampleImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Upsample(";
  const char* before = "[";
  if (options.scale_factor()) {
    stream << "scale_factor=";
    for (const double factor : *options.scale_factor()) stream << std::exchange(before, ", ") << factor;
    stream << "]";
  } else {
    stream << "size=" << IntArrayRef(*options.size());
  }
  stream << ", mode=" << enum_name(InterpolationMode(options.mode())) << ")";
}
Tensor PixelShuffleImpl::forward(const Tensor& input) { return functional::pixel_shuffle(input, options); }
TANDEM_PRINTED_AS(PixelShuffle, "upscale_factor=", options.upscale_factor())
Tensor PixelUnshuffleImpl::forward(const Tensor& input) { return functional::pixel_unshuffle(input, options); }
TANDEM_PRINTED_AS(PixelUnshuffle, "downscale_factor=", options.downscale_factor())
Tensor UnfoldImpl::forward(const Tensor& input) { return functional::unfold(input, options); }
TANDEM_PRINTED_AS(Unfold, "kernel_size=", options.kernel_size(), ", dilation=", options.dilation(),
                  ", padding=", options.padding(), ", stride=", options.stride())
Tensor FoldImpl::forward(const Tensor& input) { return functional::fold(input, options); }
TANDEM_PRINTED_AS(Fold, "output_size=", options.output_size(), ", kernel_size=", options.kernel_size(),
                  ", dilation=", options.dilation(), ", padding=", options.padding(), ", stride=", options.stride())
Tensor CosineSimilarityImpl::forward(const Tensor& x1, const Tensor& x2) {
  return functional::cosine_similarity(x1, x2, options);
}
TANDEM_PRINTED_AS(CosineSimilarity, "dim=", options.dim(), ", eps=", options.eps())
Tensor PairwiseDistanceImpl::forward(const Tensor& x1, const Tensor& x2) {
  return functional::pairwise_distance(x1, x2, options);
}
TANDEM_PRINTED_AS(PairwiseDistance, "p=", options.p(), ", eps=", options.eps(),
                  ", keepdim=", detail::word(options.keepdim()))

}  // namespace tandem::nn
