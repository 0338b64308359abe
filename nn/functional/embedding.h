// Functional forms of linear, embedding, one_hot.
#pragma once
#include "tandem/nn/options/linear.h"

namespace tandem::nn::functional {

/// input weightᵀ + bias: input [..., in], weight [out, in], bias [out] or undefined.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
/// Rows of weight [rows, columns]: input integers of any shape → [..., columns]. The row padding_idx gets no
/// gradient. Throws IndexError on a number out of range.
Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options = {});

}  // namespace tandem::nn::functional
