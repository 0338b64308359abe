// Products of several matrices, powers of a vector, and norms of parts of a tensor.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// beta self + alpha Σ_i batch1[i] batch2[i]; batch1 [B, M, K], batch2 [B, K, N], self broadcasts to [M, N].
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
              const Scalar& alpha = 1);
Tensor& addbmm_(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                const Scalar& alpha = 1);
/// The product of matrices, multiplied in the order that takes the fewest operations.
Tensor chain_matmul(TensorList matrices);
/// [len(x), N]: x^(N-1), …, x, 1 for each element of the vector x, or with `increasing` in the other order. N is by
/// default the length of x. Integers give int64.
Tensor vander(const Tensor& x, optional<int64_t> N = nullopt, bool increasing = false);
/// A copy of self in which each slice along `dim` whose p-norm is larger than maxnorm is scaled down to it.
Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm);
Tensor& renorm_(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm);
/// The root of the sum of squares over the dimensions.
Tensor frobenius_norm(const Tensor& self, IntArrayRef dim, bool keepdim = false);

}  // namespace tandem
