// beta self + alpha Σ batch1[i] batch2[i].
#include "tandem/autograd/ops/linalg/addbmm.h"

#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"

namespace tandem {
using namespace autograd;

// The batch becomes a part of the inner dimension of one product.
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha) {
  if (const auto to = autograd::in_lower_precision(self, batch1, batch2))
    return to.rounded(addbmm(to(self), to(batch1), to(batch2), beta, alpha));
  check(batch1.dim() == 3 && batch2.dim() == 3 && batch1.size(0) == batch2.size(0) && batch1.size(2) == batch2.size(1),
        "addbmm: expected [B, M, K] and [B, K, N]\n  batch1 ", batch1, "\n  batch2 ", batch2);
  const int64_t inner = batch2.size(0) * batch2.size(1);
  return addmm(self, batch1.transpose(0, 1).reshape({batch1.size(1), inner}), batch2.reshape({inner, batch2.size(2)}),
               beta, alpha);
}
Tensor& addbmm_(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                const Scalar& alpha) {
  return inplace_of(
      self, "addbmm_", [&](const Tensor& x) { return addbmm(x, batch1, batch2, beta, alpha); }, batch1, batch2);
}

Tensor Tensor::addbmm(const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha) const {
  return tandem::addbmm(*this, batch1, batch2, beta, alpha);
}
Tensor& Tensor::addbmm_(const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha) const {
  return tandem::addbmm_(tandem::detail::mutable_handle(*this), batch1, batch2, beta, alpha);
}

}  // namespace tandem
