// addbmm, chain_matmul, vander, renorm, frobenius_norm.
#include "tandem/autograd/ops/products.h"

#include <limits>
#include <vector>

#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/cat.h"
#include "tandem/autograd/ops/checks.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/inplace_of.h"
#include "tandem/autograd/ops/linalg.h"
#include "tandem/autograd/ops/promotion.h"
#include "tandem/autograd/ops/reduce.h"
#include "tandem/autograd/ops/unary.h"
#include "tandem/autograd/ops/view.h"
#include "tandem/autograd/ops/where.h"

namespace tandem {
using namespace autograd;

// The batch becomes a part of the inner dimension of one product.
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  check(batch1.dim() == 3 && batch2.dim() == 3 && batch1.size(0) == batch2.size(0) &&
            batch1.size(2) == batch2.size(1),
        "addbmm: expected [B, M, K] and [B, K, N]\n  batch1 ", batch1, "\n  batch2 ", batch2);
  const int64_t inner = batch2.size(0) * batch2.size(1);
  return addmm(self, batch1.transpose(0, 1).reshape({batch1.size(1), inner}),
               batch2.reshape({inner, batch2.size(2)}), beta, alpha);
}
Tensor& addbmm_(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                const Scalar& alpha) {
  return inplace_of(
      self, "addbmm_", [&](const Tensor& x) { return addbmm(x, batch1, batch2, beta, alpha); }, batch1,
      batch2);
}

// The cheapest order by dynamic programming: cost[i][j] is that of the product of matrices i … j, and cut[i][j] where
// its last multiplication splits them.
Tensor chain_matmul(TensorList matrices) {
  check(!matrices.empty(), "chain_matmul: expected at least one matrix");
  const std::size_t n = matrices.size();
  for (std::size_t i = 0; i < n; ++i) {
    check(matrices[i].dim() == 2, "chain_matmul: expected matrices, got ", matrices[i]);
    check(i == 0 || matrices[i - 1].size(1) == matrices[i].size(0),
          "chain_matmul: inner sizes differ\n  left  ", matrices[i - (i > 0 ? 1 : 0)], "\n  right ",
          matrices[i]);
  }
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<std::size_t>> cut(n, std::vector<std::size_t>(n, 0));
  for (std::size_t length = 1; length < n; ++length)
    for (std::size_t i = 0, j = length; j < n; ++i, ++j) {
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (std::size_t k = i; k < j; ++k) {
        const double step = static_cast<double>(matrices[i].size(0)) *
                            static_cast<double>(matrices[k].size(1)) *
                            static_cast<double>(matrices[j].size(1));
        if (const double c = cost[i][k] + cost[k + 1][j] + step; c < cost[i][j]) {
          cost[i][j] = c;
          cut[i][j] = k;
        }
      }
    }
  const auto product = [&](const auto& self, std::size_t i, std::size_t j) -> Tensor {
    return i == j ? matrices[i] : mm(self(self, i, cut[i][j]), self(self, cut[i][j] + 1, j));
  };
  return product(product, 0, n - 1);
}

Tensor vander(const Tensor& x, optional<int64_t> N, bool increasing) {
  check(x.dim() == 1, "vander: expected a vector, got ", x);
  const int64_t columns = N.value_or(x.numel());
  check(columns >= 0, "vander: expected N >= 0, got ", columns);
  const Tensor wide = as_type(x, promote_types(x.dtype(), kLong)).unsqueeze(1);
  if (columns == 0) return empty({x.numel(), 0}, wide.options());
  const Tensor powers = cat({ones_like(wide.detach()), wide.expand({-1, columns - 1})}, 1).cumprod(1);
  return increasing ? powers : powers.flip({1});
}

Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  check_floating_point("renorm", self);
  check(self.dim() >= 2, "renorm: expected at least 2 dimensions, got ", self);
  check(p.toDouble() > 0, "renorm: p must be positive, got ", p);
  check(maxnorm.toDouble() >= 0, "renorm: maxnorm must not be negative, got ", maxnorm);
  dim = wrap_dim(dim, self.dim());
  Dims others;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (d != dim) others.push_back(d);
  const Tensor size = norm(self, p, others, true), factor = maxnorm / (size + 1e-7);
  return self * where(size > maxnorm, factor, Scalar(1.0));
}
Tensor& renorm_(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  return inplace_of(self, "renorm_", [&](const Tensor& x) { return renorm(x, p, dim, maxnorm); });
}

Tensor frobenius_norm(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return norm(self, Scalar(2), dim, keepdim);
}

}  // namespace tandem
