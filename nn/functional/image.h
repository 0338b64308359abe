// Functional forms of padding, resampling, patches, and of distances.
#pragma once
#include "tandem/nn/options/distance.h"
#include "tandem/nn/options/image.h"
#include "tandem/nn/options/padding.h"

namespace tandem::nn::functional {

/// F::pad(x, F::PadFuncOptions({1, 1}).mode(kReflect)).
Tensor pad(const Tensor& input, const PadFuncOptions& options);
/// input [N, C] and 1, 2 or 3 dimensions, which get `size`, or their own times scale_factor.
Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options = {});
Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options);
Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options);
/// [N, C, H, W] → [N, C kernel, places], and the other way round, adding.
Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options);
Tensor fold(const Tensor& input, const FoldFuncOptions& options);

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const CosineSimilarityFuncOptions& options = {});
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const PairwiseDistanceFuncOptions& options = {});
Tensor pdist(const Tensor& input, double p = 2.0);
/// input / max(|input|, eps) with the p-norm along dim.
Tensor normalize(const Tensor& input, const NormalizeFuncOptions& options = {});

}  // namespace tandem::nn::functional
