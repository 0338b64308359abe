// Upsample, PixelShuffle, PixelUnshuffle, Unfold, Fold; CosineSimilarity, PairwiseDistance.
#pragma once
#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/distance.h"
#include "tandem/nn/options/image.h"

namespace tandem::nn {

TANDEM_LAYER(Upsample, Optioned, = {}, const Tensor& input);
TANDEM_MODULE(Upsample);
TANDEM_LAYER(PixelShuffle, Optioned, , const Tensor& input);
TANDEM_MODULE(PixelShuffle);
TANDEM_LAYER(PixelUnshuffle, Optioned, , const Tensor& input);
TANDEM_MODULE(PixelUnshuffle);

/// Extracts patches: [N, C, H, W] → [N, C kernel, positions].
TANDEM_SIZED_LAYER(Unfold, (ExpandingArray<2> kernel_size), (kernel_size));
TANDEM_MODULE(Unfold);

/// The reverse of Unfold; overlapping patches are summed.
TANDEM_SIZED_LAYER(Fold, (ExpandingArray<2> output_size, ExpandingArray<2> kernel_size), (output_size, kernel_size));
TANDEM_MODULE(Fold);
TANDEM_LAYER(CosineSimilarity, Optioned, = {}, const Tensor& x1, const Tensor& x2);
TANDEM_MODULE(CosineSimilarity);
TANDEM_LAYER(PairwiseDistance, Optioned, = {}, const Tensor& x1, const Tensor& x2);
TANDEM_MODULE(PairwiseDistance);

}  // namespace tandem::nn
