// Distances and angles between vectors.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// p-norms of all differences of rows: x1 [..., P, M], x2 [..., R, M] → [..., P, R]. compute_mode 2 computes
/// the differences. Mode 1 (with p = 2 and no gradient) uses a matrix product, which is less accurate when
/// rows are close to each other. The default uses it when there are more than 25 rows.
Tensor cdist(const Tensor& x1, const Tensor& x2, double p = 2, optional<int64_t> compute_mode = nullopt);
/// p-norms of the differences of all pairs of rows of a matrix [n, M] → [n (n - 1) / 2].
Tensor pdist(const Tensor& self, double p = 2);
/// p-norm of x1 - x2 + eps over the last dimension.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p = 2, double eps = 1e-6, bool keepdim = false);
/// x1 · x2 / (max(|x1|, eps) max(|x2|, eps)) over `dim`.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim = 1, double eps = 1e-8);

}  // namespace tandem
