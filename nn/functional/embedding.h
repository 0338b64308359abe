// Functional forms of linear, embedding, one_hot.
#pragma once
#include "tandem/nn/options/linear.h"

namespace tandem::nn::functional {

/// input weightᵀ + bias: input [..., in], weight [out, in], bias [out] or undefined.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
/// Selects rows of weight [rows, columns]: integer input of any shape → [..., columns]. The row padding_idx
/// receives no gradient. Throws IndexError when an index is out of range.
Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options = {});

/// input1 weight input2 + bias for each output: weight [out, in1, in2].
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {});
/// int64 [..., num_classes]: 1 at each class index, 0 elsewhere. num_classes -1: the largest class + 1.
Tensor one_hot(const Tensor& tensor, int64_t num_classes = -1);

}  // namespace tandem::nn::functional
