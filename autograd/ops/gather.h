// Reads and writes at positions along one dimension. `index` is int64 or int32 with as many dimensions as
// `self`; it may be smaller than self (and src) beside `dim`. Throws Error on other shapes, dtypes and
// devices, IndexError on an index outside 0 … size - 1.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// out[i][j] = self[index[i][j]][j] for dim 0, and so on; the shape of index.
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad = false);
/// A copy of self with out[index[i][j]][j] = src[i][j]. Where an index comes twice the last one counts.
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
/// A copy of self with out[index[i][j]][j] += src[i][j], in the order of the index along `dim`.
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
/// gather with self and index broadcast beside `dim`; without dim as one row.
Tensor take_along_dim(const Tensor& self, const Tensor& index, optional<int64_t> dim = nullopt);
/// int64 [… , num_classes]: 1 at each class, else 0. num_classes -1: the largest class + 1.
Tensor one_hot(const Tensor& self, int64_t num_classes = -1);

}  // namespace tandem
