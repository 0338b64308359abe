// index_select.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// self[…, index[i], …] along `dim`: a new tensor with index.numel() there. index: int64 or int32, 1-D.
/// Throws Error on another index, IndexError on one out of range.
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);

}  // namespace tandem
