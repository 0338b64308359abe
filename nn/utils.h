// Utilities on all gradients or parameters of a model (LibTorch's torch::nn::utils).
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn::utils {

/// Scales all gradients so that their norm, taken as one vector, is at most max_norm. Returns the norm before
/// scaling. norm_type may be infinity; of order 0, the norm is the number of gradients, as in LibTorch. Throws Error on
/// a non-finite norm if error_if_nonfinite is set.
double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2.0,
                       bool error_if_nonfinite = false);
double clip_grad_norm_(Tensor parameter, double max_norm, double norm_type = 2.0, bool error_if_nonfinite = false);
/// Clamps all gradients to ±clip_value.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
void clip_grad_value_(Tensor parameter, double clip_value);

/// Concatenates all values into one vector. Differentiable.
Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
/// The reverse: copies each parameter's part into it. Throws Error when the total size differs.
void vector_to_parameters(const Tensor& values, const std::vector<Tensor>& parameters);

}  // namespace tandem::nn::utils
