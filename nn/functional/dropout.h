// Functional forms of dropout.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/nn/options/activation.h"

namespace tandem::nn::functional {

/// Throws Error unless p is in [0, 1].
Tensor dropout(Tensor input, const DropoutFuncOptions& options = {});
Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options = {});
Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options = {});

Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options = {});
Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& options = {});

}  // namespace tandem::nn::functional
