// LocalResponseNorm and CrossMapLRN2d.
#pragma once
#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/norm.h"

namespace tandem::nn {

/// Normalises across neighbouring channels of [N, C, L, ...].
TANDEM_LAYER(LocalResponseNorm, Optioned, , const Tensor& input);
TANDEM_MODULE(LocalResponseNorm);

/// The same for [N, C, H, W], except that the window has (size - 1) / 2 channels on either side, for even sizes too,
/// and that windows which have left the first channel behind still contain it, as in PyTorch.
TANDEM_SIZED_LAYER(CrossMapLRN2d, (int64_t size), (size));
TANDEM_MODULE(CrossMapLRN2d);

}  // namespace tandem::nn
