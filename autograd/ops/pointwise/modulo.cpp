// Rounded quotients and their remainders. The gradient of a quotient is zero; that of the remainder self - q
// other is g, and -g q.
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_rule.h"

namespace tandem {
namespace {
using namespace autograd;

struct NoGradientRule {
  static constexpr Reads da_reads = kNeither, db_reads = kNeither;
  static ScalarType type(ScalarType promoted) { return promoted; }
  template <class A, class B>
  static Tensor da(const Tensor& g, const A&, const B&) {
    return zeros(g.sizes(), g.options());
  }
  template <class A, class B>
  static Tensor db(const Tensor& g, const A&, const B&) {
    return zeros(g.sizes(), g.options());
  }
};
struct TruncDivideRule : NoGradientRule {
  using Op = ops::TruncDivide;
  static constexpr const char *name = "div_", *backward_name = "TruncDivideBackward";
};
struct FloorDivideRule : NoGradientRule {
  using Op = ops::FloorDivide;
  static constexpr const char *name = "floor_divide_", *backward_name = "FloorDivideBackward";
};

// a - q b, where the quotient q has no gradient, which avoids 0 times infinity. q is computed by its own rule because
// floor(a / b) may be rounded up.
template <class Quotient>
struct RestRule {
  static constexpr Reads da_reads = kNeither, db_reads = kBoth;
  static ScalarType type(ScalarType promoted) { return promoted; }
  template <class A, class B>
  static Tensor da(const Tensor& g, const A&, const B&) {
    return g;
  }
  template <class A>
  static Tensor db(const Tensor& g, const A& a, const Tensor& b) {
    return -g * binary<Quotient>(a, b);
  }
};
struct FmodRule : RestRule<TruncDivideRule> {
  using Op = ops::Fmod;
  static constexpr const char *name = "fmod_", *backward_name = "FmodBackward";
};
struct RemainderRule : RestRule<FloorDivideRule> {
  using Op = ops::Remainder;
  static constexpr const char *name = "remainder_", *backward_name = "RemainderBackward";
};

// plain() without a mode, otherwise call(rule).
template <class Plain, class Call>
decltype(auto) rounded(optional<std::string_view> mode, Plain plain, Call call) {
  if (!mode) return plain();
  check(*mode == "trunc" || *mode == "floor", "div: rounding_mode must be \"trunc\" or \"floor\", got \"", *mode, "\"");
  return *mode == "trunc" ? call(TruncDivideRule()) : call(FloorDivideRule());
}
template <class B>
Tensor rounded_div(const Tensor& a, const B& b, optional<std::string_view> mode) {
  return rounded(
      mode, [&] { return div(a, b); }, [&]<class Rule>(Rule) { return binary<Rule>(a, b); });
}
template <class B>
Tensor& rounded_div_(const Tensor& a, const B& b, optional<std::string_view> mode) {
  return rounded(
      mode, [&]() -> Tensor& { return a.div_(b); }, [&]<class Rule>(Rule) -> Tensor& { return binary_<Rule>(a, b); });
}

}  // namespace

Tensor div(const Tensor& self, const Tensor& other, optional<std::string_view> rounding_mode) {
  return rounded_div(self, other, rounding_mode);
}
Tensor div(const Tensor& self, const Scalar& other, optional<std::string_view> rounding_mode) {
  return rounded_div(self, other, rounding_mode);
}
Tensor Tensor::div(const Tensor& other, optional<std::string_view> rounding_mode) const {
  return rounded_div(*this, other, rounding_mode);
}
Tensor Tensor::div(const Scalar& other, optional<std::string_view> rounding_mode) const {
  return rounded_div(*this, other, rounding_mode);
}
Tensor& Tensor::div_(const Tensor& other, optional<std::string_view> rounding_mode) const {
  return rounded_div_(*this, other, rounding_mode);
}
Tensor& Tensor::div_(const Scalar& other, optional<std::string_view> rounding_mode) const {
  return rounded_div_(*this, other, rounding_mode);
}

TANDEM_BINARY(floor_divide, FloorDivideRule)
TANDEM_BINARY(fmod, FmodRule)
TANDEM_BINARY(remainder, RemainderRule)
Tensor remainder(const Scalar& self, const Tensor& other) { return binary<RemainderRule>(self, other); }

}  // namespace tandem
