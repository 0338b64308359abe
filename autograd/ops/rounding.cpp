// Signs, roundings and complements. Gradient: zero; of neg and frac: -g and g.
#include "tandem/autograd/ops/unary.h"

#include <cmath>

#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/unary_op.h"

namespace tandem {
namespace {
using namespace autograd;

struct SignRule {
  using Op = ops::Sign;
  static constexpr const char *name = "sign_", *backward_name = "SignBackward";
  static constexpr Saves saves = Saves::kNothing;
  static Tensor gradient(const Tensor& g, const Tensor&) { return zeros(g.sizes(), g.options()); }
};

struct FloorRule {
  using Op = ops::Floor;
  static constexpr const char *name = "floor_", *backward_name = "FloorBackward";
  static constexpr Saves saves = Saves::kNothing;
  static Tensor gradient(const Tensor& g, const Tensor&) { return zeros(g.sizes(), g.options()); }
};

struct CeilRule {
  using Op = ops::Ceil;
  static constexpr const char *name = "ceil_", *backward_name = "CeilBackward";
  static constexpr Saves saves = Saves::kNothing;
  static Tensor gradient(const Tensor& g, const Tensor&) { return zeros(g.sizes(), g.options()); }
};

struct RoundRule {
  using Op = ops::Round;
  static constexpr const char *name = "round_", *backward_name = "RoundBackward";
  static constexpr Saves saves = Saves::kNothing;
  static Tensor gradient(const Tensor& g, const Tensor&) { return zeros(g.sizes(), g.options()); }
};

struct TruncRule {
  using Op = ops::Trunc;
  static constexpr const char *name = "trunc_", *backward_name = "TruncBackward";
  static constexpr Saves saves = Saves::kNothing;
  static Tensor gradient(const Tensor& g, const Tensor&) { return zeros(g.sizes(), g.options()); }
};

struct FracRule {
  using Op = ops::Frac;
  static constexpr const char *name = "frac_", *backward_name = "FracBackward";
  static constexpr Saves saves = Saves::kNothing;
  static Tensor gradient(const Tensor& g, const Tensor&) { return g; }
};

struct NegRule {
  using Op = ops::Neg;
  static constexpr const char *name = "neg_", *backward_name = "NegBackward";
  static constexpr Saves saves = Saves::kNothing;
  static Tensor gradient(const Tensor& g, const Tensor&) { return g.neg(); }
};

struct BitwiseNotRule {
  using Op = ops::BitNot;
  static constexpr const char *name = "bitwise_not_", *backward_name = "";
  static constexpr Saves saves = Saves::kNothing;
  static Tensor gradient(const Tensor&, const Tensor&) { return {}; }
};

const Tensor& not_bool(const Tensor& x, const char* operation) {
  check(x.dtype() != kBool, operation, ": not defined for bool; use logical_not or ~");
  return x;
}

// Integers are round already.
template <class Rule>
Tensor rounded(const Tensor& x) {
  return is_integral(x.dtype(), false) ? x.clone() : unary<Rule>(x);
}
template <class Rule>
Tensor& rounded_(Tensor& x) {
  return is_integral(x.dtype(), false) ? x : unary_<Rule>(x);
}

}  // namespace

Tensor neg(const Tensor& self) { return unary<NegRule>(not_bool(self, "neg")); }
Tensor Tensor::neg() const { return tandem::neg(*this); }
Tensor& Tensor::neg_() {
  not_bool(*this, "neg_");
  return unary_<NegRule>(*this);
}
Tensor floor(const Tensor& self) { return rounded<FloorRule>(self); }
Tensor Tensor::floor() const { return tandem::floor(*this); }
Tensor& Tensor::floor_() { return rounded_<FloorRule>(*this); }
Tensor ceil(const Tensor& self) { return rounded<CeilRule>(self); }
Tensor Tensor::ceil() const { return tandem::ceil(*this); }
Tensor& Tensor::ceil_() { return rounded_<CeilRule>(*this); }
Tensor round(const Tensor& self) { return rounded<RoundRule>(self); }
Tensor Tensor::round() const { return tandem::round(*this); }
Tensor& Tensor::round_() { return rounded_<RoundRule>(*this); }
Tensor round(const Tensor& self, int64_t decimals) {
  if (decimals == 0) return tandem::round(self);
  check(self.is_floating_point(), "round: decimals need a floating point tensor, got ", self);
  const double unit = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  return decimals > 0 ? tandem::round(self.mul(unit)).div(unit) : tandem::round(self.div(unit)).mul(unit);
}
Tensor Tensor::round(int64_t decimals) const { return tandem::round(*this, decimals); }
Tensor& Tensor::round_(int64_t decimals) {
  return decimals == 0 ? round_() : copy_(tandem::round(*this, decimals));
}
Tensor trunc(const Tensor& self) { return rounded<TruncRule>(self); }
Tensor Tensor::trunc() const { return tandem::trunc(*this); }
Tensor& Tensor::trunc_() { return rounded_<TruncRule>(*this); }
Tensor frac(const Tensor& self) { return unary<FracRule>(self); }
Tensor Tensor::frac() const { return tandem::frac(*this); }
Tensor& Tensor::frac_() { return unary_<FracRule>(*this); }
Tensor sign(const Tensor& self) { return unary<SignRule>(self); }
Tensor Tensor::sign() const { return tandem::sign(*this); }
Tensor& Tensor::sign_() { return unary_<SignRule>(*this); }
Tensor bitwise_not(const Tensor& self) { return unary<BitwiseNotRule>(self); }
Tensor Tensor::bitwise_not() const { return tandem::bitwise_not(*this); }
Tensor& Tensor::bitwise_not_() { return unary_<BitwiseNotRule>(*this); }

}  // namespace tandem
