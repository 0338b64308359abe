// Activations composed of comparisons: hardshrink, softshrink, tanhshrink, prelu, glu.
#include "tandem/autograd/ops/activation.h"
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/unary.h"
#include "tandem/autograd/ops/view.h"
#include "tandem/autograd/ops/where.h"

namespace tandem {
namespace {
void check_float(const char* operation, const Tensor& self) {
  check(self.is_floating_point(), operation, ": expected floating point, got ", self);
}
}  // namespace

Tensor hardshrink(const Tensor& self, const Scalar& lambda) {
  check_float("hardshrink", self);
  const double l = lambda.toDouble();
  return masked_fill(self, logical_and(self >= -l, self <= l), 0);
}
Tensor softshrink(const Tensor& self, const Scalar& lambda) {
  check_float("softshrink", self);
  const double l = lambda.toDouble();
  check(l >= 0, "softshrink: lambda must not be negative, got ", l);
  const Tensor inside = logical_and(self >= -l, self <= l);
  return where(inside, 0, where(self > l, self - l, self + l));  // NaN stays
}
Tensor tanhshrink(const Tensor& self) {
  check_float("tanhshrink", self);
  return self - self.tanh();
}

Tensor prelu(const Tensor& self, const Tensor& weight) {
  check_float("prelu", self);
  check(self.dtype() == weight.dtype(), "prelu: dtypes differ\n  self   ", self, "\n  weight ", weight);
  check(weight.dim() <= 1, "prelu: weight must be a number or a vector, got ", weight);
  const int64_t channels = self.dim() < 2 ? 1 : self.size(1);
  check(weight.numel() == 1 || weight.numel() == channels, "prelu: expected 1 or ", channels,
        " weights, got ", weight, "\n  self ", self);
  Dims shape(self.sizes().size(), 1);
  if (shape.size() >= 2) shape[1] = weight.numel();
  return where(self > 0, self, self * weight.reshape(shape));
}

Tensor glu(const Tensor& self, int64_t dim) {
  check_float("glu", self);
  check(self.dim() > 0, "glu: expected at least one dimension, got ", self);
  dim = wrap_dim(dim, self.dim());
  check(self.size(dim) % 2 == 0, "glu: dimension ", dim, " does not halve: ", self);
  const int64_t half = self.size(dim) / 2;
  return self.narrow(dim, 0, half) * self.narrow(dim, half, half).sigmoid();
}

Tensor Tensor::hardshrink(const Scalar& lambda) const { return tandem::hardshrink(*this, lambda); }
Tensor Tensor::prelu(const Tensor& weight) const { return tandem::prelu(*this, weight); }

}  // namespace tandem
