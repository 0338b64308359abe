// Sums of batch normalisation with the CPU's bits. Tensors are as in core/backend/batch_norm.h.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::cuda_impl::strict {

void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& input);

/// flow [C, 2]: sum(g) / count, and sum(g h) / count / s, for the gradient of the input. grad_weight and grad_bias may
/// be undefined.
void batch_gradients(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& flow, const Tensor& grad_output,
                     const Tensor& input, const Tensor& mean, const Tensor& variance, double eps);

}  // namespace tandem::cuda_impl::strict
