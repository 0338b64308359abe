// Layer normalisation with the CPU's bits; arguments as in core/backend/layer_norm.h.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::cuda_impl::strict {

void layer_norm(const Tensor& out, const Tensor& statistics, const Tensor& input, const Tensor& weight,
                const Tensor& bias, double eps);
void layer_norm_backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                         const Tensor& grad_output, const Tensor& input, const Tensor& statistics,
                         const Tensor& weight);

}  // namespace tandem::cuda_impl::strict
