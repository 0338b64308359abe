// Unary functions without parameters. Values and derivatives are in core/formulas/unary_ops.h.
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/detail/autocast_lists.h"

#include <cmath>

#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/unary_op.h"

namespace tandem {
namespace {
using namespace autograd;

const Tensor& not_bool(const Tensor& x, const char* operation) {
  check(x.dtype() != kBool, operation, ": not defined for bool; use logical_not or ~");
  return x;
}

// Those that autocast computes in float32 on CUDA.
template <class Op>
Tensor unary_in_range(const Tensor& x) {
  if (const auto to = autocast::full_precision_on_cuda(x)) return unary_float<Op>(to(x));
  return unary_float<Op>(x);
}

// Integers need no rounding.
template <class Op>
Tensor rounded(const Tensor& x) {
  return is_integral(x.dtype(), false) ? x.clone() : unary<Op>(x);
}
template <class Op>
Tensor& rounded_(const Tensor& x) {
  return is_integral(x.dtype(), false) ? tandem::detail::mutable_handle(x) : unary_<Op>(x);
}

}  // namespace

// ---- sign, rounding and complement
Tensor neg(const Tensor& self) { return unary<ops::Neg>(not_bool(self, "neg")); }
Tensor Tensor::neg() const { return tandem::neg(*this); }
Tensor& Tensor::neg_() const {
  not_bool(*this, "neg_");
  return unary_<ops::Neg>(*this);
}
Tensor floor(const Tensor& self) { return rounded<ops::Floor>(self); }
Tensor Tensor::floor() const { return tandem::floor(*this); }
Tensor& Tensor::floor_() const { return rounded_<ops::Floor>(*this); }
Tensor ceil(const Tensor& self) { return rounded<ops::Ceil>(self); }
Tensor Tensor::ceil() const { return tandem::ceil(*this); }
Tensor& Tensor::ceil_() const { return rounded_<ops::Ceil>(*this); }
Tensor round(const Tensor& self) { return rounded<ops::Round>(self); }
Tensor Tensor::round() const { return tandem::round(*this); }
Tensor& Tensor::round_() const { return rounded_<ops::Round>(*this); }
Tensor round(const Tensor& self, int64_t decimals) {
  if (decimals == 0) return tandem::round(self);
  check(self.is_floating_point(), "round: decimals need a floating point tensor, got ", self);
  const double unit = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  return decimals > 0 ? tandem::round(self.mul(unit)).div(unit) : tandem::round(self.div(unit)).mul(unit);
}
Tensor Tensor::round(int64_t decimals) const { return tandem::round(*this, decimals); }
Tensor& Tensor::round_(int64_t decimals) const {
  return decimals == 0 ? round_() : copy_(tandem::round(*this, decimals));
}
Tensor trunc(const Tensor& self) { return rounded<ops::Trunc>(self); }
Tensor Tensor::trunc() const { return tandem::trunc(*this); }
Tensor& Tensor::trunc_() const { return rounded_<ops::Trunc>(*this); }
Tensor frac(const Tensor& self) { return unary<ops::Frac>(self); }
Tensor Tensor::frac() const { return tandem::frac(*this); }
Tensor& Tensor::frac_() const { return unary_<ops::Frac>(*this); }
Tensor sign(const Tensor& self) { return unary<ops::Sign>(self); }
Tensor Tensor::sign() const { return tandem::sign(*this); }
Tensor& Tensor::sign_() const { return unary_<ops::Sign>(*this); }
Tensor bitwise_not(const Tensor& self) { return unary<ops::BitNot>(self); }
Tensor Tensor::bitwise_not() const { return tandem::bitwise_not(*this); }
Tensor& Tensor::bitwise_not_() const { return unary_<ops::BitNot>(*this); }

// ---- powers with fixed exponents
Tensor abs(const Tensor& self) { return self.is_complex() ? complex_abs(self) : unary<ops::Abs>(self); }
Tensor Tensor::abs() const { return tandem::abs(*this); }
Tensor& Tensor::abs_() const {
  check(!is_complex(), "abs_: the result is real, the tensor is ", *this);
  return unary_<ops::Abs>(*this);
}
Tensor square(const Tensor& self) {
  if (const auto to = autocast::full_precision_on_cuda(self))  // as pow
    return square(to(self));
  return unary<ops::Square>(self.dtype() == kBool ? self.to(kLong) : self);
}
Tensor Tensor::square() const { return tandem::square(*this); }
Tensor& Tensor::square_() const { return unary_<ops::Square>(*this); }
Tensor sqrt(const Tensor& self) { return unary_float<ops::Sqrt>(self); }
Tensor Tensor::sqrt() const { return tandem::sqrt(*this); }
Tensor& Tensor::sqrt_() const { return unary_float_<ops::Sqrt>(*this); }
Tensor rsqrt(const Tensor& self) { return unary_in_range<ops::Rsqrt>(self); }
Tensor Tensor::rsqrt() const { return tandem::rsqrt(*this); }
Tensor& Tensor::rsqrt_() const { return unary_float_<ops::Rsqrt>(*this); }
Tensor reciprocal(const Tensor& self) { return unary_in_range<ops::Reciprocal>(self); }
Tensor Tensor::reciprocal() const { return tandem::reciprocal(*this); }
Tensor& Tensor::reciprocal_() const { return unary_float_<ops::Reciprocal>(*this); }
Tensor sigmoid(const Tensor& self) { return unary_float<ops::Sigmoid>(self); }
Tensor Tensor::sigmoid() const { return tandem::sigmoid(*this); }
Tensor& Tensor::sigmoid_() const { return unary_float_<ops::Sigmoid>(*this); }
Tensor relu(const Tensor& self) { return unary<ops::Relu>(self); }
Tensor& relu_(const Tensor& self) { return self.relu_(); }
Tensor Tensor::relu() const { return tandem::relu(*this); }
Tensor& Tensor::relu_() const { return unary_<ops::Relu>(*this); }

// ---- exponentials and logarithms
Tensor exp(const Tensor& self) { return unary_in_range<ops::Exp>(self); }
Tensor Tensor::exp() const { return tandem::exp(*this); }
Tensor& Tensor::exp_() const { return unary_float_<ops::Exp>(*this); }
Tensor exp2(const Tensor& self) { return unary_float<ops::Exp2>(self); }
Tensor Tensor::exp2() const { return tandem::exp2(*this); }
Tensor& Tensor::exp2_() const { return unary_float_<ops::Exp2>(*this); }
Tensor expm1(const Tensor& self) { return unary_in_range<ops::Expm1>(self); }
Tensor Tensor::expm1() const { return tandem::expm1(*this); }
Tensor& Tensor::expm1_() const { return unary_float_<ops::Expm1>(*this); }
Tensor log(const Tensor& self) { return unary_in_range<ops::Log>(self); }
Tensor Tensor::log() const { return tandem::log(*this); }
Tensor& Tensor::log_() const { return unary_float_<ops::Log>(*this); }
Tensor log2(const Tensor& self) { return unary_in_range<ops::Log2>(self); }
Tensor Tensor::log2() const { return tandem::log2(*this); }
Tensor& Tensor::log2_() const { return unary_float_<ops::Log2>(*this); }
Tensor log10(const Tensor& self) { return unary_in_range<ops::Log10>(self); }
Tensor Tensor::log10() const { return tandem::log10(*this); }
Tensor& Tensor::log10_() const { return unary_float_<ops::Log10>(*this); }
Tensor log1p(const Tensor& self) { return unary_in_range<ops::Log1p>(self); }
Tensor Tensor::log1p() const { return tandem::log1p(*this); }
Tensor& Tensor::log1p_() const { return unary_float_<ops::Log1p>(*this); }
Tensor erf(const Tensor& self) { return unary_float<ops::Erf>(self); }
Tensor Tensor::erf() const { return tandem::erf(*this); }
Tensor& Tensor::erf_() const { return unary_float_<ops::Erf>(*this); }
Tensor erfc(const Tensor& self) { return unary_float<ops::Erfc>(self); }
Tensor Tensor::erfc() const { return tandem::erfc(*this); }
Tensor& Tensor::erfc_() const { return unary_float_<ops::Erfc>(*this); }

// ---- trigonometric and hyperbolic functions
Tensor sin(const Tensor& self) { return unary_float<ops::Sin>(self); }
Tensor Tensor::sin() const { return tandem::sin(*this); }
Tensor& Tensor::sin_() const { return unary_float_<ops::Sin>(*this); }
Tensor cos(const Tensor& self) { return unary_float<ops::Cos>(self); }
Tensor Tensor::cos() const { return tandem::cos(*this); }
Tensor& Tensor::cos_() const { return unary_float_<ops::Cos>(*this); }
Tensor tan(const Tensor& self) { return unary_in_range<ops::Tan>(self); }
Tensor Tensor::tan() const { return tandem::tan(*this); }
Tensor& Tensor::tan_() const { return unary_float_<ops::Tan>(*this); }
Tensor asin(const Tensor& self) { return unary_in_range<ops::Asin>(self); }
Tensor Tensor::asin() const { return tandem::asin(*this); }
Tensor& Tensor::asin_() const { return unary_float_<ops::Asin>(*this); }
Tensor acos(const Tensor& self) { return unary_in_range<ops::Acos>(self); }
Tensor Tensor::acos() const { return tandem::acos(*this); }
Tensor& Tensor::acos_() const { return unary_float_<ops::Acos>(*this); }
Tensor atan(const Tensor& self) { return unary_float<ops::Atan>(self); }
Tensor Tensor::atan() const { return tandem::atan(*this); }
Tensor& Tensor::atan_() const { return unary_float_<ops::Atan>(*this); }
Tensor sinh(const Tensor& self) { return unary_in_range<ops::Sinh>(self); }
Tensor Tensor::sinh() const { return tandem::sinh(*this); }
Tensor& Tensor::sinh_() const { return unary_float_<ops::Sinh>(*this); }
Tensor cosh(const Tensor& self) { return unary_in_range<ops::Cosh>(self); }
Tensor Tensor::cosh() const { return tandem::cosh(*this); }
Tensor& Tensor::cosh_() const { return unary_float_<ops::Cosh>(*this); }
Tensor tanh(const Tensor& self) { return unary_float<ops::Tanh>(self); }
Tensor Tensor::tanh() const { return tandem::tanh(*this); }
Tensor& Tensor::tanh_() const { return unary_float_<ops::Tanh>(*this); }
Tensor asinh(const Tensor& self) { return unary_float<ops::Asinh>(self); }
Tensor Tensor::asinh() const { return tandem::asinh(*this); }
Tensor& Tensor::asinh_() const { return unary_float_<ops::Asinh>(*this); }
Tensor acosh(const Tensor& self) { return unary_float<ops::Acosh>(self); }
Tensor Tensor::acosh() const { return tandem::acosh(*this); }
Tensor& Tensor::acosh_() const { return unary_float_<ops::Acosh>(*this); }
Tensor atanh(const Tensor& self) { return unary_float<ops::Atanh>(self); }
Tensor Tensor::atanh() const { return tandem::atanh(*this); }
Tensor& Tensor::atanh_() const { return unary_float_<ops::Atanh>(*this); }

}  // namespace tandem
