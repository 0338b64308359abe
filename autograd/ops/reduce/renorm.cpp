// Slices scaled down to a largest norm.
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/reduce/reduce.h"

namespace tandem {
using namespace autograd;

Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  if (const auto to = autograd::in_full_precision_on_cuda(self)) return to.rounded(renorm(to(self), p, dim, maxnorm));
  check(is_differentiable(self.dtype()), "renorm: expected a floating point or complex tensor, got ", self);
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

Tensor Tensor::renorm(const Scalar& p, int64_t dim, const Scalar& maxnorm) const {
  return tandem::renorm(*this, p, dim, maxnorm);
}
Tensor& Tensor::renorm_(const Scalar& p, int64_t dim, const Scalar& maxnorm) const {
  return tandem::renorm_(tandem::detail::mutable_handle(*this), p, dim, maxnorm);
}

}  // namespace tandem
