// hardshrink, softshrink and tanhshrink, composed of comparisons.
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem {
using namespace autograd;

Tensor hardshrink(const Tensor& self, const Scalar& lambda) {
  check_floating_point("hardshrink", self);
  const double l = lambda.toDouble();
  return masked_fill(self, logical_and(self >= -l, self <= l), 0);
}
Tensor softshrink(const Tensor& self, const Scalar& lambda) {
  check_floating_point("softshrink", self);
  const double l = lambda.toDouble();
  check(l >= 0, "softshrink: lambda must not be negative, got ", l);
  const Tensor inside = logical_and(self >= -l, self <= l);
  return where(inside, 0, where(self > l, self - l, self + l));  // NaN stays
}
Tensor tanhshrink(const Tensor& self) {
  check(is_differentiable(self.dtype()), "tanhshrink: expected a floating point or complex tensor, got ", self);
  return self - self.tanh();
}

Tensor Tensor::hardshrink(const Scalar& lambda) const { return tandem::hardshrink(*this, lambda); }

}  // namespace tandem
