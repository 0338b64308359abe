// Sums of the products of a batch.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// beta self + alpha Σ_i batch1[i] batch2[i]; batch1 [B, M, K], batch2 [B, K, N], self broadcasts to [M, N].
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
              const Scalar& alpha = 1);
Tensor& addbmm_(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                const Scalar& alpha = 1);

}  // namespace tandem
