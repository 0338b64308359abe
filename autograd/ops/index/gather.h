// Reads and writes at indices along one dimension. `index` is int64 or int32 with as many dimensions as
// `self`; in the other dimensions it may be smaller than self (and src). Throws Error for other shapes,
// dtypes and devices, IndexError for an index outside 0 … size - 1.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// out[i][j] = self[index[i][j]][j] for dim 0, and likewise for other dims; has the shape of index.
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad = false);
/// A copy of self with out[index[i][j]][j] = src[i][j]. For a repeated index, the last write wins.
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
/// A copy of self with out[index[i][j]][j] += src[i][j], added in the order of the index along `dim`.
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
/// gather with self and index broadcast in the other dimensions; without dim, on the flattened tensors.
Tensor take_along_dim(const Tensor& self, const Tensor& index, optional<int64_t> dim = nullopt);
/// int64 [..., num_classes]: 1 at each class, 0 elsewhere. num_classes -1 means the largest class + 1.
Tensor one_hot(const Tensor& self, int64_t num_classes = -1);

}  // namespace tandem
