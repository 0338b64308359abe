// embedding.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Rows weight[i] of a matrix [V, D] for every i of `indices` (int64 or int32): indices' shape and D. The row
/// padding_idx (negative: none) gets no gradient; with scale_grad_by_freq a row's gradient is divided by how
/// often it was used. Throws IndexError on an index outside 0 … V - 1.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1,
                 bool scale_grad_by_freq = false, bool sparse = false);

}  // namespace tandem
