// Joining tensors. Dtypes promote; devices must be the same. Throws Error that names both shapes where they
// do not fit.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Side by side along `dim`; the other sizes are equal. An empty tensor of shape [0] is left out.
Tensor cat(TensorList tensors, int64_t dim = 0);
inline Tensor concatenate(TensorList tensors, int64_t dim = 0) { return cat(tensors, dim); }
/// Along a new dimension `dim`; all shapes are equal.
Tensor stack(TensorList tensors, int64_t dim = 0);
/// Along dimension 1 (dimension 0 for vectors).
Tensor hstack(TensorList tensors);
/// Along dimension 0; vectors are rows.
Tensor vstack(TensorList tensors);
/// Views of N vectors (or numbers) as N tensors of N dimensions; "xy" swaps the first two.
std::vector<Tensor> meshgrid(TensorList tensors, const char* indexing = "ij");

}  // namespace tandem
