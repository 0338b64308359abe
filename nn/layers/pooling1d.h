// AvgPool1d, MaxPool1d, AdaptiveAvgPool1d, AdaptiveMaxPool1d: input [N, C, L] or [C, L]. AdaptiveMaxPool2d.
#pragma once
#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/pooling.h"

namespace tandem::nn {

TANDEM_SIZED_LAYER(AvgPool1d, (ExpandingArray<1> kernel_size), (kernel_size));
TANDEM_MODULE(AvgPool1d);

/// forward_with_indices() also returns the positions of the maxima.
TANDEM_SIZED_LAYER(MaxPool1d, (ExpandingArray<1> kernel_size), (kernel_size),
                   std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input););
TANDEM_MODULE(MaxPool1d);
TANDEM_SIZED_LAYER(AdaptiveAvgPool1d, (ExpandingArray<1> output_size), (output_size));
TANDEM_MODULE(AdaptiveAvgPool1d);

/// forward_with_indices() also returns the positions of the maxima.
TANDEM_SIZED_LAYER(AdaptiveMaxPool1d, (ExpandingArray<1> output_size), (output_size),
                   std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input););
TANDEM_MODULE(AdaptiveMaxPool1d);

/// forward_with_indices() also returns the positions of the maxima, h * width + w.
TANDEM_SIZED_LAYER(AdaptiveMaxPool2d, (ExpandingArrayWithOptionalElem<2> output_size), (output_size),
                   std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input););
TANDEM_MODULE(AdaptiveMaxPool2d);

}  // namespace tandem::nn
