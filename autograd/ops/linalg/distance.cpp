// Distances, composed of norm and matmul.
#include "tandem/autograd/ops/linalg/distance.h"

#include "tandem/autograd/ops/detail/constant.h"
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/diag.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

Tensor rows_norm(const Tensor& t) { return t.square().sum(IntArrayRef(-1), true); }

// When cdist multiplies matrices, with LibTorch's numbers: for many rows, always or never.
enum ByProduct : int64_t { kIfMany = 0, kAlways = 1, kNever = 2 };

// The norms of rows; without columns they are 0 for every p.
Tensor lengths(const Tensor& rows, double p) {
  if (rows.size(-1) == 0) return rows.sum(IntArrayRef(-1));
  return norm(rows, optional<Scalar>(Scalar(p)), {-1});
}

// |a - b|² = |a|² + |b|² - 2 a · b.
Tensor by_product(const Tensor& x1, const Tensor& x2) {
  const Tensor squares = rows_norm(x1) + rows_norm(x2).transpose(-2, -1) - 2 * x1.matmul(x2.transpose(-2, -1));
  return squares.clamp_min(Scalar(0)).sqrt();
}

}  // namespace

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, optional<int64_t> compute_mode) {
  if (const auto to = autograd::in_full_precision(x1, x2)) return to.rounded(cdist(to(x1), to(x2), p, compute_mode));
  check(x1.dim() >= 2 && x2.dim() >= 2 && x1.size(-1) == x2.size(-1),
        "cdist: expected [..., P, M] and [..., R, M]\n  x1 ", x1, "\n  x2 ", x2);
  check(x1.is_floating_point() && x2.is_floating_point(), "cdist: expected floating point\n  x1 ", x1, "\n  x2 ", x2);
  check(p >= 0, "cdist: p must not be negative, got ", p);
  const int64_t mode = compute_mode.value_or(kIfMany);
  check(mode >= kIfMany && mode <= kNever, "cdist: compute_mode must be 0, 1 or 2, got ", mode);
  const bool many = x1.size(-2) > 25 || x2.size(-2) > 25;
  // The gradient of the square root at 0 requires the differences.
  if (p == 2 && !recording(x1, x2) && (mode == kAlways || (mode == kIfMany && many))) return by_product(x1, x2);
  return lengths(x1.unsqueeze(-2) - x2.unsqueeze(-3), p);
}

Tensor pdist(const Tensor& self, double p) {
  if (const auto to = autograd::in_full_precision_on_cuda(self)) return to.rounded(pdist(to(self), p));
  check(self.dim() == 2, "pdist: expected a matrix, got ", self);
  const Tensor pairs = [&] {
    const tandem::detail::OutsideRecording scope;
    return constant_on(triu_indices(self.size(0), self.size(0), 1), self.device());
  }();
  return lengths(self.index_select(0, pairs.select(0, 0)) - self.index_select(0, pairs.select(0, 1)), p);
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  if (const auto to = autograd::in_full_precision_on_cuda(x1, x2))
    return to.rounded(pairwise_distance(to(x1), to(x2), p, eps, keepdim));
  return norm(x1 - x2 + eps, optional<Scalar>(Scalar(p)), {-1}, keepdim);
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  if (const auto to = autograd::in_full_precision_on_cuda(x1, x2))
    return to.rounded(cosine_similarity(to(x1), to(x2), dim, eps));
  const ScalarType type = result_type(x1, x2);
  check(is_floating_point(type), "cosine_similarity: expected floating point, got ", type);
  const Dims sizes = broadcast_sizes(x1.sizes(), x2.sizes(), "cosine_similarity");
  const Tensor a = as_type(x1, type).expand(sizes), b = as_type(x2, type).expand(sizes);
  const auto unit = [&](const Tensor& x) {
    return x / norm(x, optional<Scalar>(Scalar(2)), IntArrayRef(dim), true).clamp_min(Scalar(eps));
  };
  return (unit(a) * unit(b)).sum(IntArrayRef(dim));
}

}  // namespace tandem
