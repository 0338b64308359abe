// Functional forms of padding, resampling, patch extraction and distances.
#pragma once
#include "tandem/nn/options/distance.h"
#include "tandem/nn/options/image.h"
#include "tandem/nn/options/padding.h"

namespace tandem::nn::functional {

/// F::pad(x, F::PadFuncOptions({1, 1}).mode(kReflect)).
Tensor pad(const Tensor& input, const PadFuncOptions& options);
/// input [N, C] plus 1 to 3 dimensions, which are resized to `size` or scaled by scale_factor.
Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options = {});
Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options);
Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options);
/// unfold: [N, C, H, W] → [N, C kernel, positions]. fold is the reverse and sums overlapping patches.
Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options);
Tensor fold(const Tensor& input, const FoldFuncOptions& options);

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const CosineSimilarityFuncOptions& options = {});
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const PairwiseDistanceFuncOptions& options = {});
Tensor pdist(const Tensor& input, double p = 2.0);
/// input / max(|input|, eps), where |input| is the p-norm along dim.
Tensor normalize(const Tensor& input, const NormalizeFuncOptions& options = {});

}  // namespace tandem::nn::functional
