// Joining tensors. Dtypes promote; devices must match. Throws Error that names both shapes when they do not
// fit.
#pragma once
#include <string_view>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// Concatenates along `dim`; all other sizes must be equal. An empty tensor of shape [0] is skipped.
Tensor cat(TensorList tensors, int64_t dim = 0);
inline Tensor concatenate(TensorList tensors, int64_t dim = 0) { return cat(tensors, dim); }
/// Joins along a new dimension `dim`; all shapes must be equal.
Tensor stack(TensorList tensors, int64_t dim = 0);
/// Concatenates along dimension 1 (dimension 0 for vectors).
Tensor hstack(TensorList tensors);
/// Concatenates along dimension 0; vectors count as rows.
Tensor vstack(TensorList tensors);
/// Along dimension 1, vectors as columns; along dimension 2, after atleast_3d.
Tensor column_stack(TensorList tensors);
Tensor dstack(TensorList tensors);
/// Expands N vectors (or numbers) to N coordinate grids with N dimensions, as views; "xy" swaps the first two
/// dimensions.
std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing = "ij");

}  // namespace tandem
