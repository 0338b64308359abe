// Activation functions; values and derivatives are in core/formulas/unary_ops.h.
#include "tandem/autograd/ops/pointwise/activation.h"

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/pointwise/bounds.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/unary_op.h"

namespace tandem {
using namespace autograd;

namespace {
void check_alpha(const Scalar& alpha) { check(!alpha.equal(0), "celu: alpha must not be 0"); }
Parameters hardtanh_bounds(const Tensor& self, const Scalar& min, const Scalar& max) {
  check(min.toDouble() <= max.toDouble(), "hardtanh: min ", min, " is above max ", max);
  return bounds("hardtanh", min, max, self.dtype());
}
}  // namespace

Tensor log_sigmoid(const Tensor& self) { return unary<ops::LogSigmoid>(self); }
Tensor silu(const Tensor& self) { return self.is_complex() ? self * sigmoid(self) : unary<ops::Silu>(self); }
Tensor mish(const Tensor& self) { return unary<ops::Mish>(self); }
Tensor softsign(const Tensor& self) { return self.is_complex() ? self / (abs(self) + 1) : unary<ops::Softsign>(self); }
Tensor hardsigmoid(const Tensor& self) { return unary<ops::Hardsigmoid>(self); }
Tensor hardswish(const Tensor& self) { return unary<ops::Hardswish>(self); }
Tensor gelu(const Tensor& self, std::string_view approximate) {
  check(approximate == "none" || approximate == "tanh", "gelu: approximate must be \"none\" or \"tanh\", got \"",
        approximate, "\"");
  return approximate == "none" ? unary<ops::Gelu>(self) : unary<ops::GeluTanh>(self);
}
Tensor softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  if (const auto to = autocast::full_precision_on_cuda(self)) return softplus(to(self), beta, threshold);
  return unary<ops::Softplus>(self, {beta, threshold});
}
Tensor elu(const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  if (input_scale.toDouble() == 1) return unary<ops::Elu>(self, {alpha, scale});
  // Positive inputs take the branch without the exponential, whose overflow would turn gradients into NaN.
  const Tensor positive = self > 0;
  const Tensor negative = expm1(self.masked_fill(positive, 0).mul(input_scale)).mul(alpha);
  return where(positive, self, negative).mul(scale);
}
Tensor selu(const Tensor& self) { return elu(self, 1.6732632423543772, 1.0507009873554805); }
Tensor celu(const Tensor& self, const Scalar& alpha) {
  check_alpha(alpha);
  return unary<ops::Celu>(self, {alpha, 0});
}
Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope) {
  return unary<ops::LeakyRelu>(self, {negative_slope, 0});
}
Tensor hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  return unary<ops::Hardtanh>(self, hardtanh_bounds(self, min_val, max_val));
}
Tensor relu6(const Tensor& self) { return hardtanh(self, 0, 6); }
Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  return unary<ops::Threshold>(self, {threshold, value});
}

Tensor& silu_(const Tensor& self) {
  return self.is_complex() ? inplace_of(self, "silu_", silu) : unary_<ops::Silu>(self);
}
Tensor& mish_(const Tensor& self) { return unary_<ops::Mish>(self); }
Tensor& hardsigmoid_(const Tensor& self) { return unary_<ops::Hardsigmoid>(self); }
Tensor& hardswish_(const Tensor& self) { return unary_<ops::Hardswish>(self); }
Tensor& gelu_(const Tensor& self, std::string_view approximate) {
  return inplace_of(self, "gelu_", [&](const Tensor& x) { return gelu(x, approximate); });
}
Tensor& elu_(const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  if (input_scale.equal(1)) return unary_<ops::Elu>(self, {alpha, scale});
  return inplace_of(self, "elu_", [&](const Tensor& x) { return elu(x, alpha, scale, input_scale); });
}
Tensor& selu_(const Tensor& self) { return elu_(self, 1.6732632423543772, 1.0507009873554805); }
Tensor& celu_(const Tensor& self, const Scalar& alpha) {
  check_alpha(alpha);
  return unary_<ops::Celu>(self, {alpha, 0});
}
Tensor& leaky_relu_(const Tensor& self, const Scalar& negative_slope) {
  return unary_<ops::LeakyRelu>(self, {negative_slope, 0});
}
Tensor& hardtanh_(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  return unary_<ops::Hardtanh>(self, hardtanh_bounds(self, min_val, max_val));
}
Tensor& relu6_(const Tensor& self) { return hardtanh_(self, 0, 6); }
Tensor& threshold_(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  return unary_<ops::Threshold>(self, {threshold, value});
}

}  // namespace tandem
