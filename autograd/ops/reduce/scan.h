// Running sums, products and linear recurrences in either direction. cumsum, cumprod and prod and their
// gradients are built from them. Floating point (cumsum and cumprod also int64); differentiable any number of
// times.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::autograd {

Tensor running_sum(const Tensor& x, int64_t dim, bool reverse);
/// The gradient is exact even when x contains zeros.
Tensor running_product(const Tensor& x, int64_t dim, bool reverse);
/// y_k = b_k + a_k y_(k-1), or with y_(k+1) in reverse; y is 0 outside the range.
Tensor linear_recurrence(const Tensor& a, const Tensor& b, int64_t dim, bool reverse);
/// x shifted by one position along dim (backwards in reverse); the vacated position is set to `fill`.
Tensor shifted(const Tensor& x, int64_t dim, bool reverse, const Scalar& fill);

}  // namespace tandem::autograd
