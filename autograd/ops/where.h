// Choices by a condition. `condition` and `mask` are bool and broadcast with the rest; dtypes of the values
// promote. Throws Error on a condition of another dtype.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// condition ? self : other
Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other);
Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other);
Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other);
Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other);
/// The positions of elements that are not 0, one int64 vector for each dimension.
std::vector<Tensor> where(const Tensor& condition);

/// self with `value` (a number, or a tensor of dimension 0) where mask is true; self's dtype, which
/// cuts fractions. Throws Error for a number outside the range of an integer dtype.
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value);
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value);

}  // namespace tandem
