// index_add.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// A copy of `self` with alpha source[…, i, …] added at index[i] along `dim`. index: int64 or int32, 1-D;
/// source: the shape of self except index.numel() along `dim`. Throws Error for other shapes and dtypes,
/// IndexError for an index out of range.
Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha = 1);

}  // namespace tandem
