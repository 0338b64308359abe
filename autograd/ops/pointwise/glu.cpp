// glu, composed of sigmoid and a product.
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"

namespace tandem {
using namespace autograd;

Tensor glu(const Tensor& self, int64_t dim) {
  if (const auto half = autograd::half_result(self)) return glu(autograd::widened(self), dim).to(*half);
  check_floating_point("glu", self);
  check(self.dim() > 0, "glu: expected at least one dimension, got ", self);
  dim = wrap_dim(dim, self.dim());
  check(self.size(dim) % 2 == 0, "glu: dimension ", dim, " does not halve: ", self);
  const int64_t half = self.size(dim) / 2;
  return self.narrow(dim, 0, half) * self.narrow(dim, half, half).sigmoid();
}

}  // namespace tandem
