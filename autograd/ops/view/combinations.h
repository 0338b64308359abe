// Tuples of elements of vectors.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// All tuples of elements of vectors, one a row.
Tensor cartesian_prod(TensorList tensors);
/// All choices of r elements of a vector, one a row.
Tensor combinations(const Tensor& self, int64_t r = 2, bool with_replacement = false);

}  // namespace tandem
