// Functional forms of convolutions.
#pragma once
#include "tandem/nn/options/conv.h"

namespace tandem::nn::functional {

/// input [N, C, L] or [C, L], weight [out, C / groups, k].
Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options = {});
/// input [N, C, H, W] or [C, H, W], weight [out, C / groups, kh, kw].
Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options = {});
/// input [N, C, D, H, W] or [C, D, H, W], weight [out, C / groups, kd, kh, kw].
Tensor conv3d(const Tensor& input, const Tensor& weight, const Conv3dFuncOptions& options = {});
/// weight [C, out / groups, k].
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const ConvTranspose1dFuncOptions& options = {});
/// weight [C, out / groups, kh, kw].
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const ConvTranspose2dFuncOptions& options = {});
/// weight [C, out / groups, kd, kh, kw].
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const ConvTranspose3dFuncOptions& options = {});

}  // namespace tandem::nn::functional
