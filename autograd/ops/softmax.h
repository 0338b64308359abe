// Softmax and its logarithm along one dimension, computed after subtracting the maximum.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// exp(x) / Σ exp(x) along `dim`. self float32 or float64, or converted to `dtype` first. Throws Error for
/// other dtypes, IndexError on a dimension out of range.
Tensor softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);
/// x - log Σ exp(x) along `dim`, likewise.
Tensor log_softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);

}  // namespace tandem
