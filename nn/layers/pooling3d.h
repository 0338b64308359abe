// MaxPool3d, AvgPool3d, AdaptiveMaxPool3d, AdaptiveAvgPool3d: input [N, C, D, H, W] or [C, D, H, W]. LPPool1d, 2d, 3d.
#pragma once
#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/pooling.h"

namespace tandem::nn {

TANDEM_SIZED_LAYER(AvgPool3d, (ExpandingArray<3> kernel_size), (kernel_size));
TANDEM_MODULE(AvgPool3d);

/// forward_with_indices() also returns the positions of the maxima, (d * height + h) * width + w.
TANDEM_SIZED_LAYER(MaxPool3d, (ExpandingArray<3> kernel_size), (kernel_size),
                   std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input););
TANDEM_MODULE(MaxPool3d);
TANDEM_SIZED_LAYER(AdaptiveAvgPool3d, (ExpandingArrayWithOptionalElem<3> output_size), (output_size));
TANDEM_MODULE(AdaptiveAvgPool3d);

/// forward_with_indices() also returns the positions of the maxima, (d * height + h) * width + w.
TANDEM_SIZED_LAYER(AdaptiveMaxPool3d, (ExpandingArrayWithOptionalElem<3> output_size), (output_size),
                   std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input););
TANDEM_MODULE(AdaptiveMaxPool3d);
TANDEM_SIZED_LAYER(LPPool1d, (double norm_type, ExpandingArray<1> kernel_size), (norm_type, kernel_size));
TANDEM_MODULE(LPPool1d);
TANDEM_SIZED_LAYER(LPPool2d, (double norm_type, ExpandingArray<2> kernel_size), (norm_type, kernel_size));
TANDEM_MODULE(LPPool2d);
TANDEM_SIZED_LAYER(LPPool3d, (double norm_type, ExpandingArray<3> kernel_size), (norm_type, kernel_size));
TANDEM_MODULE(LPPool3d);

}  // namespace tandem::nn
