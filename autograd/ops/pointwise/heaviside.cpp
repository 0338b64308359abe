// heaviside, composed of comparisons. It has no gradient.
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem {
using namespace autograd;

Tensor heaviside(const Tensor& self, const Tensor& values) {
  check(self.dtype() == values.dtype(), "heaviside: dtypes differ\n  self   ", self, "\n  values ", values);
  const Tensor x = self.detach(), above = as_type(x > 0, x.dtype());
  return where(x == 0, values.detach(), above);
}

Tensor Tensor::heaviside(const Tensor& values) const { return tandem::heaviside(*this, values); }

Tensor& Tensor::heaviside_(const Tensor& values) const {
  return inplace_of(*this, "heaviside_", [&](const Tensor& x) { return tandem::heaviside(x, values); });
}

}  // namespace tandem
