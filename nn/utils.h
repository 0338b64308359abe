// Gradients and parameters as a whole (LibTorch's torch::nn::utils).
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn::utils {

/// Scales all gradients so that their norm, taken as one vector, is at most max_norm; gives the norm before.
/// norm_type may be infinity. Throws Error when the norm is not finite and error_if_nonfinite.
double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2.0,
                       bool error_if_nonfinite = false);
double clip_grad_norm_(Tensor parameter, double max_norm, double norm_type = 2.0,
                       bool error_if_nonfinite = false);
/// Clamps all gradients to ±clip_value.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
void clip_grad_value_(Tensor parameter, double clip_value);

/// All values in one row. Differentiable.
Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
/// The other way round: each parameter gets its part. Throws Error when the sizes do not add up.
void vector_to_parameters(const Tensor& values, const std::vector<Tensor>& parameters);

}  // namespace tandem::nn::utils
