// Functional forms of normalisation.
#pragma once
#include "tandem/nn/options/norm.h"

namespace tandem::nn::functional {

/// input [N, C, …]; running_mean and running_var [C], changed in place while training, or undefined.
Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options = {});
Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options);

}  // namespace tandem::nn::functional
