// Functional forms of embedding and one_hot.
#pragma once
#include "tandem/nn/options/embedding.h"

namespace tandem::nn::functional {

/// Selects rows of weight [rows, columns]: integer input of any shape → [..., columns]. The row padding_idx
/// receives no gradient. Throws IndexError when an index is out of range.
Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options = {});

/// Combines rows of weight [rows, columns]: input [B, L] has bags of L indices each, input [N] has bags that begin at
/// options.offsets() [B]; returns [B, columns]. See tandem::embedding_bag.
Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& options = {});

/// int64 [..., num_classes]: 1 at each class index, 0 elsewhere. num_classes -1: the largest class + 1.
Tensor one_hot(const Tensor& tensor, int64_t num_classes = -1);

}  // namespace tandem::nn::functional
