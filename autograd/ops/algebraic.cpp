// Powers with fixed exponents, the absolute value, and sigmoid.
#include "tandem/autograd/ops/unary.h"

#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/unary_op.h"

namespace tandem {
namespace {
using namespace autograd;

struct AbsRule {
  using Op = ops::Abs;
  static constexpr const char *name = "abs_", *backward_name = "AbsBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g * sign(x); }
};

struct SquareRule {
  using Op = ops::Square;
  static constexpr const char *name = "square_", *backward_name = "SquareBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g * (x * 2); }
};

struct SqrtRule {
  using Op = ops::Sqrt;
  static constexpr const char *name = "sqrt_", *backward_name = "SqrtBackward";
  static constexpr Saves saves = Saves::kOutput;
  static Tensor gradient(const Tensor& g, const Tensor& y) { return g / (y * 2); }
};

struct RsqrtRule {
  using Op = ops::Rsqrt;
  static constexpr const char *name = "rsqrt_", *backward_name = "RsqrtBackward";
  static constexpr Saves saves = Saves::kOutput;
  static Tensor gradient(const Tensor& g, const Tensor& y) { return g * (y * y * y * -0.5); }
};

struct ReciprocalRule {
  using Op = ops::Reciprocal;
  static constexpr const char *name = "reciprocal_", *backward_name = "ReciprocalBackward";
  static constexpr Saves saves = Saves::kOutput;
  static Tensor gradient(const Tensor& g, const Tensor& y) { return -g * y * y; }
};

struct SigmoidRule {
  using Op = ops::Sigmoid;
  static constexpr const char *name = "sigmoid_", *backward_name = "SigmoidBackward";
  static constexpr Saves saves = Saves::kOutput;
  static Tensor gradient(const Tensor& g, const Tensor& y) { return g * ((1 - y) * y); }
};

}  // namespace

Tensor abs(const Tensor& self) { return unary<AbsRule>(self); }
Tensor Tensor::abs() const { return tandem::abs(*this); }
Tensor& Tensor::abs_() { return unary_<AbsRule>(*this); }
Tensor square(const Tensor& self) { return unary<SquareRule>(self.dtype() == kBool ? self.to(kLong) : self); }
Tensor Tensor::square() const { return tandem::square(*this); }
Tensor& Tensor::square_() { return unary_<SquareRule>(*this); }
Tensor sqrt(const Tensor& self) { return unary_float<SqrtRule>(self); }
Tensor Tensor::sqrt() const { return tandem::sqrt(*this); }
Tensor& Tensor::sqrt_() { return unary_float_<SqrtRule>(*this); }
Tensor rsqrt(const Tensor& self) { return unary_float<RsqrtRule>(self); }
Tensor Tensor::rsqrt() const { return tandem::rsqrt(*this); }
Tensor& Tensor::rsqrt_() { return unary_float_<RsqrtRule>(*this); }
Tensor reciprocal(const Tensor& self) { return unary_float<ReciprocalRule>(self); }
Tensor Tensor::reciprocal() const { return tandem::reciprocal(*this); }
Tensor& Tensor::reciprocal_() { return unary_float_<ReciprocalRule>(*this); }
Tensor sigmoid(const Tensor& self) { return unary_float<SigmoidRule>(self); }
Tensor Tensor::sigmoid() const { return tandem::sigmoid(*this); }
Tensor& Tensor::sigmoid_() { return unary_float_<SigmoidRule>(*this); }

}  // namespace tandem
