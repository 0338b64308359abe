// Functional forms of linear and bilinear.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::functional {

/// input weightᵀ + bias: input [..., in], weight [out, in], bias [out] or undefined.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
/// input1 weight input2 + bias for each output: weight [out, in1, in2].
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {});

}  // namespace tandem::nn::functional
