// embedding: rows of a weight matrix, selected by index.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Row weight[i] of a matrix [V, D] for every i of `indices` (int64 or int32); the result's shape is that of indices
/// followed by D. Row padding_idx (negative: none) gets no gradient. With scale_grad_by_freq, a row's gradient is
/// divided by the number of times it was used. `sparse` has no effect. Throws IndexError on an index outside
/// 0 … V - 1.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1,
                 bool scale_grad_by_freq = false, bool sparse = false);

}  // namespace tandem
