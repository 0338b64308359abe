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

TANDEM_MEMBERS(heaviside, (const Tensor& values), (values))

}  // namespace tandem
