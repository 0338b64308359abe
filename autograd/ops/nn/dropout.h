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
/// Dropout that keeps mean 0 and variance 1 of the activations of SELU, whose negative limit takes the place of 0
/// (G. Klambauer et al.: Self-normalizing neural networks, 2017); feature_alpha_dropout drops whole channels.
Tensor alpha_dropout(const Tensor& input, double p, bool train);
Tensor& alpha_dropout_(const Tensor& input, double p, bool train);
Tensor feature_alpha_dropout(const Tensor& input, double p, bool train);
Tensor& feature_alpha_dropout_(const Tensor& input, double p, bool train);

}  // namespace tandem
