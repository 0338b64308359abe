// AvgPool2d, MaxPool2d, AdaptiveAvgPool2d: input [N, C, H, W] or [C, H, W].
#pragma once
#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/pooling.h"

namespace tandem::nn {

TANDEM_SIZED_LAYER(AvgPool2d, (ExpandingArray<2> kernel_size), (kernel_size));
TANDEM_MODULE(AvgPool2d);
/// forward_with_indices() also returns the positions of the maxima, h * width + w.
TANDEM_SIZED_LAYER(MaxPool2d, (ExpandingArray<2> kernel_size), (kernel_size),
                   std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input););
TANDEM_MODULE(MaxPool2d);
TANDEM_SIZED_LAYER(AdaptiveAvgPool2d, (ExpandingArrayWithOptionalElem<2> output_size), (output_size));
TANDEM_MODULE(AdaptiveAvgPool2d);

}  // namespace tandem::nn
