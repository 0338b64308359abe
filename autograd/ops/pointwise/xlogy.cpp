// xlogy: self log(other).
#include <limits>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/refuse_complex.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_rule.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem {
using namespace autograd;

// Where self is 0 and the logarithm of other is not finite, 1 replaces other, so the product is 0. NaN stays.
Tensor xlogy(const Tensor& self, const Tensor& other) {
  if (const auto plain = autocast::unchanged_on_cuda(self)) return xlogy(self, other);
  refuse_complex("xlogy", self, other);
  const Tensor y = as_type(other, float_type(result_type(self, other)));
  const Tensor nothing = logical_and(self == 0, logical_or(y <= 0, y == std::numeric_limits<double>::infinity()));
  return self * where(nothing, Scalar(1.0), y).log();
}
Tensor xlogy(const Tensor& self, const Scalar& other) {
  return xlogy(self, full({}, other, TensorOptions(float_type(self.dtype())).device(self.device())));
}
Tensor xlogy(const Scalar& self, const Tensor& other) {
  return xlogy(full({}, self, TensorOptions(float_type(other.dtype())).device(other.device())), other);
}

TANDEM_MEMBERS_OF(xlogy, (const Tensor& other), (other), other)
TANDEM_MEMBERS(xlogy, (const Scalar& other), (other))

}  // namespace tandem
