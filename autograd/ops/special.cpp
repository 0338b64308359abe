// Elementwise composites.
#include "tandem/autograd/ops/special.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/binary_rule.h"
#include "tandem/autograd/ops/cat.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/inplace_of.h"
#include "tandem/autograd/ops/reduce.h"
#include "tandem/autograd/ops/unary.h"
#include "tandem/autograd/ops/where.h"

namespace tandem {
namespace {
using namespace autograd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor with_sign(const Tensor& self, const Tensor& negative, ScalarType type) {
  const Tensor size = as_type(self, is_floating_point(type) ? type : get_default_dtype()).abs();
  return where(negative, -size, size);
}

// log(B^a + B^b) to the base B, 2 or e: the larger, and log(1 + B^-|a - b|). Gradients: 1 / (1 + B^(b - a))
// and 1 / (1 + B^(a - b)).
struct LogAddExpBackward final : Node {
  const char* name() const override { return "LogAddExpBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor d = a.unpack(*this) - b.unpack(*this);
    if (needs(0)) out[0] = g[0] * part(d);
    if (needs(1)) out[1] = g[0] * part(-d);
  }
  void release() override {
    a.release();
    b.release();
  }
  Tensor part(const Tensor& d) const {
    if (!binary) return sigmoid(d);
    const Tensor below = d.detach() < 0, e = exp2(where(below, d, -d));
    return where(below, e, 1) / (e + 1);
  }
  SavedTensor a, b;
  bool binary = false;
};

Tensor log_sum(const Tensor& self, const Tensor& other, bool binary, const char* operation) {
  const ScalarType type = result_type(self, other);
  check(is_floating_point(type), operation, ": expected floating point, got ", type);
  const Dims sizes = broadcast_sizes(self.sizes(), other.sizes(), operation);
  const Tensor a = as_type(self, type).expand(sizes), b = as_type(other, type).expand(sizes);
  const Tensor x = a.detach(), y = b.detach();
  // Equal infinities have no difference.
  const Tensor near = where(x == y, 0, -(x - y).abs());
  const Tensor out = maximum(x, y) + (binary ? exp2(near).log1p() / std::numbers::ln2 : exp(near).log1p());
  if (auto* node = record<LogAddExpBackward>(out, a, b)) {
    node->a.save(a);
    node->b.save(b);
    node->binary = binary;
  }
  return out;
}

// x / (1 - x) has its logarithm only inside [0, 1], where the gradient is 1 / (x (1 - x)). Outside of the
// bounds `low` and 1 - low, or of [0, 1] without any, it is 0 or NaN.
struct LogitBackward final : Node {
  const char* name() const override { return "LogitBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = self.unpack(*this);
    const double bound = low.value_or(0), value = low ? 0 : std::numeric_limits<double>::quiet_NaN();
    const Tensor outside = logical_or(x<bound, x> 1 - bound), safe = where(outside, 0.5, x);
    out[0] = where(outside, value, g[0] / (safe * (1 - safe)));
  }
  void release() override { self.release(); }
  SavedTensor self;
  optional<double> low;
};

}  // namespace

Tensor signbit(const Tensor& self) {
  if (!self.is_floating_point()) return self.dtype() == kBool ? zeros_like(self) : self < 0;
  const Tensor x = self.detach();
  switch (x.element_size()) {
    case 8:
      return x.view(kLong) < 0;
    case 4:
      return x.view(kInt) < 0;
    default:
      return x.view(kShort) < 0;
  }
}
Tensor isposinf(const Tensor& self) {
  return self.is_floating_point() ? self == kInfinity : zeros(self.sizes(), self.options().dtype(kBool));
}
Tensor isneginf(const Tensor& self) {
  return self.is_floating_point() ? self == -kInfinity : zeros(self.sizes(), self.options().dtype(kBool));
}

Tensor copysign(const Tensor& self, const Tensor& other) {
  return with_sign(self, signbit(other), result_type(self, other));
}
Tensor copysign(const Tensor& self, const Scalar& other) {
  const bool negative = std::signbit(other.toDouble());
  return with_sign(self, full({}, negative, TensorOptions(kBool).device(self.device())),
                   result_type(self, other));
}

Tensor fmax(const Tensor& self, const Tensor& other) {
  return where(other.isnan(), self, where(self.isnan(), other, maximum(self, other)));
}
Tensor fmin(const Tensor& self, const Tensor& other) {
  return where(other.isnan(), self, where(self.isnan(), other, minimum(self, other)));
}

// Where the product is 0 whatever the logarithm is, 1 stands in for other.
Tensor xlogy(const Tensor& self, const Tensor& other) {
  const Tensor y = as_float(other);
  const Tensor nothing = logical_and(self == 0, logical_or(y <= 0, y == kInfinity));
  return self * where(nothing, Scalar(1.0), y).log();
}
Tensor xlogy(const Tensor& self, const Scalar& other) {
  return xlogy(self, full({}, other, TensorOptions(float_type(self.dtype())).device(self.device())));
}
Tensor xlogy(const Scalar& self, const Tensor& other) {
  return xlogy(full({}, self, TensorOptions(float_type(other.dtype())).device(other.device())), other);
}

Tensor logaddexp(const Tensor& self, const Tensor& other) { return log_sum(self, other, false, "logaddexp"); }
Tensor logaddexp2(const Tensor& self, const Tensor& other) {
  return log_sum(self, other, true, "logaddexp2");
}

Tensor heaviside(const Tensor& self, const Tensor& values) {
  check(self.dtype() == values.dtype(), "heaviside: dtypes differ\n  self   ", self, "\n  values ", values);
  const Tensor x = self.detach(), above = as_type(x > 0, x.dtype());
  return where(x == 0, values.detach(), above);
}

Tensor float_power(const Tensor& self, const Tensor& exponent) {
  return as_type(self, kDouble).pow(as_type(exponent, kDouble));
}
Tensor float_power(const Tensor& self, const Scalar& exponent) {
  return as_type(self, kDouble).pow(exponent.toDouble());
}
Tensor float_power(const Scalar& self, const Tensor& exponent) {
  return pow(Scalar(self.toDouble()), as_type(exponent, kDouble));
}

Tensor logit(const Tensor& self, optional<double> eps) {
  const Tensor input = as_float(self);
  Tensor x = input.detach();
  if (eps) x = x.clamp(Scalar(*eps), Scalar(1 - *eps));
  const Tensor out = (x / (1 - x)).log();
  if (auto* node = record<LogitBackward>(out, input)) {
    node->self.save(input);
    node->low = eps;
  }
  return out;
}
Tensor sinc(const Tensor& self) {
  const Tensor angle = as_float(self) * std::numbers::pi, near = angle.detach().abs() < 0.5;
  // Near 0 by its series, 1 - a² / 3! + a⁴ / 5! - …: there the derivatives of the quotient cancel.
  const Tensor far = where(near, Scalar(1.0), angle), z = where(near, angle, Scalar(0.0)).square();
  Tensor series = ones_like(z);
  for (int k = 16; k > 0; k -= 2) series = 1 - z / static_cast<double>(k * (k + 1)) * series;
  return where(near, series, far.sin() / far);
}
Tensor deg2rad(const Tensor& self) { return as_float(self) * (std::numbers::pi / 180); }
Tensor rad2deg(const Tensor& self) { return as_float(self) * (180 / std::numbers::pi); }

Tensor Tensor::signbit() const { return tandem::signbit(*this); }
Tensor Tensor::isposinf() const { return tandem::isposinf(*this); }
Tensor Tensor::isneginf() const { return tandem::isneginf(*this); }
Tensor Tensor::copysign(const Tensor& other) const { return tandem::copysign(*this, other); }
Tensor Tensor::copysign(const Scalar& other) const { return tandem::copysign(*this, other); }
Tensor& Tensor::copysign_(const Tensor& other) {
  return inplace_of(*this, "copysign_", [&](const Tensor& x) { return tandem::copysign(x, other); });
}
Tensor& Tensor::copysign_(const Scalar& other) {
  return inplace_of(*this, "copysign_", [&](const Tensor& x) { return tandem::copysign(x, other); });
}
Tensor Tensor::fmax(const Tensor& other) const { return tandem::fmax(*this, other); }
Tensor Tensor::fmin(const Tensor& other) const { return tandem::fmin(*this, other); }
Tensor Tensor::xlogy(const Tensor& other) const { return tandem::xlogy(*this, other); }
Tensor Tensor::xlogy(const Scalar& other) const { return tandem::xlogy(*this, other); }
Tensor& Tensor::xlogy_(const Tensor& other) {
  return inplace_of(
      *this, "xlogy_", [&](const Tensor& x) { return tandem::xlogy(x, other); }, other);
}
Tensor Tensor::logaddexp(const Tensor& other) const { return tandem::logaddexp(*this, other); }
Tensor Tensor::logaddexp2(const Tensor& other) const { return tandem::logaddexp2(*this, other); }
Tensor Tensor::heaviside(const Tensor& values) const { return tandem::heaviside(*this, values); }
Tensor Tensor::float_power(const Tensor& exponent) const { return tandem::float_power(*this, exponent); }
Tensor Tensor::float_power(const Scalar& exponent) const { return tandem::float_power(*this, exponent); }
Tensor Tensor::logit(optional<double> eps) const { return tandem::logit(*this, eps); }
Tensor& Tensor::logit_(optional<double> eps) {
  return inplace_of(*this, "logit_", [&](const Tensor& x) { return tandem::logit(x, eps); });
}
Tensor Tensor::sinc() const { return tandem::sinc(*this); }
Tensor& Tensor::sinc_() {
  return inplace_of(*this, "sinc_", [](const Tensor& x) { return tandem::sinc(x); });
}
Tensor Tensor::deg2rad() const { return tandem::deg2rad(*this); }
Tensor& Tensor::deg2rad_() {
  return inplace_of(*this, "deg2rad_", [](const Tensor& x) { return tandem::deg2rad(x); });
}
Tensor Tensor::rad2deg() const { return tandem::rad2deg(*this); }
Tensor& Tensor::rad2deg_() {
  return inplace_of(*this, "rad2deg_", [](const Tensor& x) { return tandem::rad2deg(x); });
}
Tensor& Tensor::nan_to_num_(optional<double> nan, optional<double> posinf, optional<double> neginf) {
  return inplace_of(*this, "nan_to_num_",
                    [&](const Tensor& x) { return tandem::nan_to_num(x, nan, posinf, neginf); });
}

}  // namespace tandem
