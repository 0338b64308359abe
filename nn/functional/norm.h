// Functional forms of normalisation.
#pragma once
#include "tandem/nn/options/norm.h"

namespace tandem::nn::functional {

/// input [N, C, …]; running_mean and running_var [C], updated in place during training, or undefined.
Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options = {});
Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options);
Tensor rms_norm(const Tensor& input, const RMSNormFuncOptions& options);

Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options);
/// input [N, C, ...]; normalises each channel of each sample separately.
Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options = {});
Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options);

}  // namespace tandem::nn::functional
