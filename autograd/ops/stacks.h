// More ways to join tensors and to pair them.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// With at least 1, 2 or 3 dimensions: a vector is [1, n] and [1, n, 1], a matrix [m, n, 1].
Tensor atleast_1d(const Tensor& self);
Tensor atleast_2d(const Tensor& self);
Tensor atleast_3d(const Tensor& self);
/// Along dimension 1, vectors as columns; along dimension 2, after atleast_3d.
Tensor column_stack(TensorList tensors);
Tensor dstack(TensorList tensors);
/// Matrices (vectors are rows) down a diagonal, else 0.
Tensor block_diag(TensorList tensors);
/// Views of one shape.
std::vector<Tensor> broadcast_tensors(TensorList tensors);
/// All tuples of elements of vectors, one a row.
Tensor cartesian_prod(TensorList tensors);
/// All choices of r elements of a vector, one a row.
Tensor combinations(const Tensor& self, int64_t r = 2, bool with_replacement = false);

}  // namespace tandem
