// Dropout (Srivastava et al., JMLR 15, 2014), scaled during training.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Each element is 0 with probability p and input / (1 - p) otherwise; without `train`, or with p = 0,
/// returns the input itself. Draws from the default generator. Throws Error for p outside [0, 1] and, in
/// training, for dtypes that are not floating point.
Tensor dropout(const Tensor& input, double p, bool train);
Tensor& dropout_(const Tensor& input, double p, bool train);
/// Zeroes whole channels: input [N, C, ...], one draw for each pair of the first two indices.
Tensor feature_dropout(const Tensor& input, double p, bool train);
Tensor& feature_dropout_(const Tensor& input, double p, bool train);

}  // namespace tandem
