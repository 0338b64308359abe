// prelu, composed of comparisons.
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem {
using namespace autograd;

Tensor prelu(const Tensor& self, const Tensor& weight) {
  if (const auto to = autograd::in_lower_precision(self, weight)) return to.rounded(prelu(to(self), to(weight)));
  check_floating_point("prelu", self);
  check(self.dtype() == weight.dtype(), "prelu: dtypes differ\n  self   ", self, "\n  weight ", weight);
  check(weight.dim() <= 1, "prelu: weight must be a number or a vector, got ", weight);
  const int64_t channels = self.dim() < 2 ? 1 : self.size(1);
  check(weight.numel() == 1 || weight.numel() == channels, "prelu: expected 1 or ", channels, " weights, got ", weight,
        "\n  self ", self);
  Dims shape(self.sizes().size(), 1);
  if (shape.size() >= 2) shape[1] = weight.numel();
  return where(self > 0, self, self * weight.reshape(shape));
}

Tensor Tensor::prelu(const Tensor& weight) const { return tandem::prelu(*this, weight); }

}  // namespace tandem
