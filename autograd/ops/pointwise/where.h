// Selection by a condition. `condition` and `mask` are bool and broadcast with the other arguments; dtypes of
// the values promote. Throws Error for a condition of another dtype.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// condition ? self : other
Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other);
Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other);
Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other);
Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other);
/// The positions of nonzero elements, one int64 vector per dimension.
std::vector<Tensor> where(const Tensor& condition);

/// self with `value` (a number or a 0-dim tensor) where mask is true, in self's dtype; fractions are
/// truncated. Throws Error for a number outside the range of an integer dtype.
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value);
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value);

}  // namespace tandem
