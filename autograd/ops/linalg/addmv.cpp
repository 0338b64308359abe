// addmv and addr: beta self + alpha product, where the product is mat vec or a bᵀ.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"

namespace tandem {
namespace {
using namespace autograd;

Tensor weighted_sum(const Tensor& self, const Tensor& product, const Scalar& beta, const Scalar& alpha,
                    const char* operation) {
  check(broadcast_sizes(self.sizes(), product.sizes(), operation) == Dims(product.sizes()), operation, ": self ", self,
        " does not broadcast to the product ", product);
  const Tensor scaled = alpha.equal(1) ? product : product * alpha;
  if (beta.equal(0)) return scaled;
  return (beta.equal(1) ? self : self * beta) + scaled;
}

}  // namespace

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
  if (const auto to = autocast::lower_precision_or_unchanged(self))
    return addmv(to(self), to(mat), to(vec), beta, alpha);
  return weighted_sum(self, mv(mat, vec), beta, alpha, "addmv");
}
Tensor addr(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  if (const auto to = autocast::lower_precision_or_unchanged(self)) return addr(to(self), to(a), to(b), beta, alpha);
  return weighted_sum(self, outer(a, b), beta, alpha, "addr");
}

TANDEM_MEMBERS_OF(addmv, (const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha),
                  (mat, vec, beta, alpha), mat, vec)
TANDEM_MEMBERS_OF(addr, (const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha),
                  (a, b, beta, alpha), a, b)

}  // namespace tandem
