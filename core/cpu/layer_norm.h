// The CPU's kernels of layer normalisation; their contracts are in core/backend/batch_norm.h.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::cpu {

void layer_normalize(const Tensor& out, const Tensor& statistics, const Tensor& input, const Tensor& weight,
                     const Tensor& bias, double eps);
void layer_backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                    const Tensor& grad_output, const Tensor& input, const Tensor& statistics, const Tensor& weight);

}  // namespace tandem::cpu
