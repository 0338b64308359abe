// Softmax and its logarithm along one dimension, computed after subtracting the maximum.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// exp(x) / Σ exp(x) along `dim`. self is floating point (the half types included), or is converted to
/// `dtype` first. Throws Error for other dtypes, IndexError for a dimension out of range.
Tensor softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);
/// x - log Σ exp(x) along `dim`; dtypes and errors as for softmax.
Tensor log_softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);

}  // namespace tandem
