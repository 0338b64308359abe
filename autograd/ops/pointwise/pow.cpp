// pow and float_power: self to the power exponent. Gradients: g exponent self^(exponent - 1), zero where the
// exponent is zero; and g self^exponent log(self), zero where self is 0 and the exponent is not negative.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_rule.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/complex_unary.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/unary.h"

namespace tandem {
namespace {
using namespace autograd;

Scalar less_one(const Scalar& number) {
  const Complex<double> z = number.toComplexDouble();
  return Complex<double>(z.re - 1, z.im);
}
// Negative real numbers have complex logarithms.
Tensor complex_log(const Tensor& a, ScalarType type) { return log(as_type(a, type)); }

struct PowRule {
  using Op = ops::Pow;
  static constexpr const char *name = "pow_", *backward_name = "PowBackward";
  static constexpr Reads da_reads = kBoth, db_reads = kBoth;
  static ScalarType type(ScalarType promoted) { return promoted; }

  static Tensor da(const Tensor& g, const Tensor& a, const Tensor& b) {
    if (g.is_complex()) return g * conj(where(b == 0, Scalar(0.0), b * pow(a, b - 1)));
    const Tensor constant = b == 0;
    return where(constant, 0, g) * where(constant, 0, b * pow(a, b - 1));  // g may be NaN there
  }
  static Tensor da(const Tensor& g, const Tensor& a, const Scalar& b) {
    if (b.equal(0)) return zeros(g.sizes(), g.options());
    if (b.equal(2)) return g * conj(a * 2);
    if (b.isComplex()) return g * conj(pow(a, less_one(b)) * b);
    return g * conj(pow(a, b.toDouble() - 1) * b);
  }
  static Tensor db(const Tensor& g, const Tensor& a, const Tensor& b) {
    if (g.is_complex())
      return g * conj(where(logical_and(a == 0, real(b.detach()) >= 0), Scalar(0.0),
                            pow(a, b) * complex_log(a, g.scalar_type())));
    return g * where(logical_and(a == 0, b >= 0), 0, pow(a, b) * log(a));
  }
  static Tensor db(const Tensor& g, const Scalar& a, const Tensor& b) {
    if (g.is_complex()) return db(g, full({}, a, g.options()), b);
    const Tensor slope = pow(a, b) * std::log(a.toDouble());
    return g * (a.equal(0) ? where(b >= 0, 0, slope) : slope);
  }
};

ScalarType check_exponent(ScalarType type, const Scalar& exponent) {
  check(is_differentiable(type) || exponent.toDouble() >= 0,
        "pow: integers to negative integer powers are not allowed (exponent ", exponent,
        "); use a floating point tensor");
  return type;
}

// out = x^exponent, where x and out have the same dtype. Frequent exponents avoid pow.
void power_into(const Tensor& out, const Tensor& x, const Scalar& exponent) {
  if (x.is_complex()) {
    NoGradGuard no_grad;
    return copy_raw(out, exponent.equal(1)   ? x
                         : exponent.equal(2) ? x * x
                                             : complex_pow(x, full({}, exponent, x.options().requires_grad(false))));
  }
  const Backend& kernels = backend(x);
  const bool real = is_floating_point(x.dtype());
  if (exponent.equal(2))
    kernels.unary.value.get<ops::Square>()(out, x, nullptr);
  else if (real && exponent.equal(0.5))
    kernels.unary.value.get<ops::Sqrt>()(out, x, nullptr);
  else if (real && exponent.equal(-0.5))
    kernels.unary.value.get<ops::Rsqrt>()(out, x, nullptr);
  else if (real && exponent.equal(-1))
    kernels.unary.value.get<ops::Reciprocal>()(out, x, nullptr);
  else if (exponent.equal(1))
    copy_raw(out, x);
  else
    kernels.binary.value.get<ops::Pow>()(out, x, autograd::rounded_number(exponent, x.dtype()), 0);
}

}  // namespace

Tensor pow(const Tensor& self, const Tensor& exponent) {
  if (const auto to = autocast::full_precision_on_cuda(self)) return pow(to(self), to(exponent));
  return binary<PowRule>(self, exponent);
}
Tensor pow(const Scalar& self, const Tensor& exponent) {
  if (const auto to = autocast::full_precision_on_cuda(exponent)) return pow(self, to(exponent));
  return binary<PowRule>(self, exponent);
}
Tensor pow(const Tensor& self, const Scalar& exponent) {
  if (const auto to = autocast::full_precision_on_cuda(self)) return pow(to(self), exponent);
  const ScalarType type = check_exponent(result_type(self, exponent), exponent);
  const Prepared x(self, type, self.device());
  Tensor out = empty_elementwise(self, type);
  power_into(out, x.tensor(), exponent);
  if (auto* node = record<RightNumberNode<PowRule>>(out, self)) {
    node->a.save(self);
    node->b = exponent;
  }
  return out;
}
Tensor Tensor::pow(const Tensor& exponent) const { return tandem::pow(*this, exponent); }
Tensor Tensor::pow(const Scalar& exponent) const { return tandem::pow(*this, exponent); }
Tensor& Tensor::pow_(const Tensor& exponent) const { return binary_<PowRule>(*this, exponent); }
Tensor& Tensor::pow_(const Scalar& exponent) const {
  check_result_fits("pow_", *this, check_exponent(result_type(*this, exponent), exponent));
  return inplace(
      *this, "pow_", Before::kClone, [&] { power_into(*this, *this, exponent); },
      [&](const Tensor& before) { return tandem::pow(before, exponent); });
}

namespace {
Tensor in_double(const Tensor& t) { return as_type(t, t.is_complex() ? kComplexDouble : kDouble); }
Scalar in_double(const Scalar& number) { return number.isComplex() ? number : Scalar(number.toDouble()); }
}  // namespace
Tensor float_power(const Tensor& self, const Tensor& exponent) { return in_double(self).pow(in_double(exponent)); }
Tensor float_power(const Tensor& self, const Scalar& exponent) { return in_double(self).pow(in_double(exponent)); }
Tensor float_power(const Scalar& self, const Tensor& exponent) { return pow(in_double(self), in_double(exponent)); }
Tensor Tensor::float_power(const Tensor& exponent) const { return tandem::float_power(*this, exponent); }
Tensor Tensor::float_power(const Scalar& exponent) const { return tandem::float_power(*this, exponent); }

namespace {
// The result is float64, which no other dtype holds.
template <class E>
Tensor& float_power_into(const Tensor& self, const E& exponent) {
  check(self.dtype() == kDouble || self.dtype() == kComplexDouble,
        "float_power_: the result is float64 or complex128 and does not fit in ", self);
  return self.pow_(exponent);
}
}  // namespace
Tensor& Tensor::float_power_(const Tensor& exponent) const { return float_power_into(*this, in_double(exponent)); }
Tensor& Tensor::float_power_(const Scalar& exponent) const { return float_power_into(*this, in_double(exponent)); }

}  // namespace tandem
