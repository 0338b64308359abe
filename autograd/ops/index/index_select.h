// index_select.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// self[…, index[i], …] along `dim`: a new tensor of size index.numel() in that dimension. index: int64 or
/// int32, 1-D. Throws Error for any other index tensor, IndexError for an index out of range.
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);

}  // namespace tandem
