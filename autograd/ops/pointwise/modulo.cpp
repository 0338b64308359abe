// Rounded quotients and their remainders. The gradient of a quotient is zero; that of the remainder self - q
// other is g, and -g q.
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_rule.h"
#include "tandem/autograd/ops/pointwise/unary.h"

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

struct FmodRule {
  using Op = ops::Fmod;
  static constexpr const char *name = "fmod_", *backward_name = "FmodBackward";
  static constexpr Reads da_reads = kNeither, db_reads = kBoth;
  static ScalarType type(ScalarType promoted) { return promoted; }
  template <class A, class B>
  static Tensor da(const Tensor& g, const A&, const B&) {
    return g;
  }
  template <class A>
  static Tensor db(const Tensor& g, const A& a, const Tensor& b) {
    return -g * binary<TruncDivideRule>(a, b);  // has no gradient, which avoids 0 times infinity
  }
};
struct RemainderRule {
  using Op = ops::Remainder;
  static constexpr const char *name = "remainder_", *backward_name = "RemainderBackward";
  static constexpr Reads da_reads = kNeither, db_reads = kBoth;
  static ScalarType type(ScalarType promoted) { return promoted; }
  template <class A, class B>
  static Tensor da(const Tensor& g, const A&, const B&) {
    return g;
  }
  template <class A>
  static Tensor db(const Tensor& g, const A& a, const Tensor& b) {
    return -g * binary<FloorDivideRule>(
                    a, b);  // the quotient that belongs to this remainder; floor(a / b) may be rounded up
  }
};

enum class Rounding { kNo, kTrunc, kFloor };
Rounding rounding(optional<std::string_view> mode) {
  if (!mode) return Rounding::kNo;
  check(*mode == "trunc" || *mode == "floor", "div: rounding_mode must be \"trunc\" or \"floor\", got \"", *mode, "\"");
  return *mode == "trunc" ? Rounding::kTrunc : Rounding::kFloor;
}

template <class B>
Tensor rounded_div(const Tensor& a, const B& b, optional<std::string_view> mode) {
  switch (rounding(mode)) {
    case Rounding::kNo:
      return div(a, b);
    case Rounding::kTrunc:
      return binary<TruncDivideRule>(a, b);
    default:
      return binary<FloorDivideRule>(a, b);
  }
}
template <class B>
Tensor& rounded_div_(const Tensor& a, const B& b, optional<std::string_view> mode) {
  switch (rounding(mode)) {
    case Rounding::kNo:
      return a.div_(b);
    case Rounding::kTrunc:
      return binary_<TruncDivideRule>(a, b);
    default:
      return binary_<FloorDivideRule>(a, b);
  }
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

Tensor floor_divide(const Tensor& self, const Tensor& other) { return binary<FloorDivideRule>(self, other); }
Tensor floor_divide(const Tensor& self, const Scalar& other) { return binary<FloorDivideRule>(self, other); }
Tensor Tensor::floor_divide(const Tensor& other) const { return tandem::floor_divide(*this, other); }
Tensor Tensor::floor_divide(const Scalar& other) const { return tandem::floor_divide(*this, other); }
Tensor& Tensor::floor_divide_(const Tensor& other) const { return binary_<FloorDivideRule>(*this, other); }
Tensor& Tensor::floor_divide_(const Scalar& other) const { return binary_<FloorDivideRule>(*this, other); }

Tensor fmod(const Tensor& self, const Tensor& other) { return binary<FmodRule>(self, other); }
Tensor fmod(const Tensor& self, const Scalar& other) { return binary<FmodRule>(self, other); }
Tensor Tensor::fmod(const Tensor& other) const { return tandem::fmod(*this, other); }
Tensor Tensor::fmod(const Scalar& other) const { return tandem::fmod(*this, other); }
Tensor& Tensor::fmod_(const Tensor& other) const { return binary_<FmodRule>(*this, other); }
Tensor& Tensor::fmod_(const Scalar& other) const { return binary_<FmodRule>(*this, other); }

Tensor remainder(const Tensor& self, const Tensor& other) { return binary<RemainderRule>(self, other); }
Tensor remainder(const Tensor& self, const Scalar& other) { return binary<RemainderRule>(self, other); }
Tensor remainder(const Scalar& self, const Tensor& other) { return binary<RemainderRule>(self, other); }
Tensor Tensor::remainder(const Tensor& other) const { return tandem::remainder(*this, other); }
Tensor Tensor::remainder(const Scalar& other) const { return tandem::remainder(*this, other); }
Tensor& Tensor::remainder_(const Tensor& other) const { return binary_<RemainderRule>(*this, other); }
Tensor& Tensor::remainder_(const Scalar& other) const { return binary_<RemainderRule>(*this, other); }

}  // namespace tandem
