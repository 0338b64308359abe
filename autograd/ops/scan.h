// Running sums, products and linear recurrences in either direction: what cumsum, cumprod and prod and their
// gradients are made of. Floating point (cumsum and cumprod also int64); differentiable any number of times.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::autograd {

Tensor running_sum(const Tensor& x, int64_t dim, bool reverse);
/// gradient with zeros among x is exact.
Tensor running_product(const Tensor& x, int64_t dim, bool reverse);
/// y_k = b_k + a_k y_(k-1), or with y_(k+1) in reverse; y outside is 0.
Tensor linear_recurrence(const Tensor& a, const Tensor& b, int64_t dim, bool reverse);
/// x moved one place on along dim (one back in reverse); `fill` enters.
Tensor shifted(const Tensor& x, int64_t dim, bool reverse, const Scalar& fill);

}  // namespace tandem::autograd
