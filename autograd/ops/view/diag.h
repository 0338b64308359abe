// Diagonals: building matrices from them, and writing to them.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// A matrix with the vector self on the given diagonal, or a copy of that diagonal of the matrix self.
Tensor diag(const Tensor& self, int64_t diagonal = 0);
/// The last dimension of self as the diagonal of new dimensions dim1 and dim2; 0 elsewhere.
Tensor diag_embed(const Tensor& self, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
/// diag of the flattened self.
Tensor diagflat(const Tensor& self, int64_t offset = 0);
/// Matrices (vectors are rows) down a diagonal, else 0.
Tensor block_diag(TensorList tensors);
/// The sum of the main diagonal of a matrix.
Tensor trace(const Tensor& self);
/// A copy of self with the given diagonal replaced by src.
Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
/// A copy of self with self.select(dim, index), or self.slice(…), replaced by src.
Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index);
Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim = 0, optional<int64_t> start = nullopt,
                     optional<int64_t> end = nullopt, int64_t step = 1);
/// int64 [2, count]: row and column indices of the lower (upper) triangle of a [row, col] matrix, in
/// row-major order.
Tensor tril_indices(int64_t row, int64_t col, int64_t offset = 0, const TensorOptions& options = kLong);
Tensor triu_indices(int64_t row, int64_t col, int64_t offset = 0, const TensorOptions& options = kLong);

}  // namespace tandem
