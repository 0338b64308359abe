// Trigonometric and hyperbolic functions and their inverses.
#include "tandem/autograd/ops/unary.h"

#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/unary_op.h"
#include "tandem/autograd/ops/where.h"

namespace tandem {
namespace {
using namespace autograd;

struct SinRule {
  using Op = ops::Sin;
  static constexpr const char *name = "sin_", *backward_name = "SinBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g * cos(x); }
};

struct CosRule {
  using Op = ops::Cos;
  static constexpr const char *name = "cos_", *backward_name = "CosBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return -g * sin(x); }
};

struct TanRule {
  using Op = ops::Tan;
  static constexpr const char *name = "tan_", *backward_name = "TanBackward";
  static constexpr Saves saves = Saves::kOutput;
  static Tensor gradient(const Tensor& g, const Tensor& y) { return g * (y * y + 1); }
};

// 1 - x²: near 1 by its factors, whose derivatives would cancel near 0.
Tensor one_minus_square(const Tensor& x) { return where(abs(x) < 0.5, 1 - x * x, (1 - x) * (x + 1)); }

// 1 / |x| where the square of x may overflow, `near` elsewhere.
Tensor where_far(const Tensor& x, const Tensor& near) {
  const Tensor size = abs(x), far = size.detach() > 1e9;
  return where(far, reciprocal(where(far, size, 1)), near);
}

struct AsinRule {
  using Op = ops::Asin;
  static constexpr const char *name = "asin_", *backward_name = "AsinBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g * rsqrt(one_minus_square(x)); }
};

struct AcosRule {
  using Op = ops::Acos;
  static constexpr const char *name = "acos_", *backward_name = "AcosBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return -g * rsqrt(one_minus_square(x)); }
};

struct AtanRule {
  using Op = ops::Atan;
  static constexpr const char *name = "atan_", *backward_name = "AtanBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g / (x * x + 1); }
};

struct SinhRule {
  using Op = ops::Sinh;
  static constexpr const char *name = "sinh_", *backward_name = "SinhBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g * cosh(x); }
};

struct CoshRule {
  using Op = ops::Cosh;
  static constexpr const char *name = "cosh_", *backward_name = "CoshBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g * sinh(x); }
};

struct TanhRule {
  using Op = ops::Tanh;
  static constexpr const char *name = "tanh_", *backward_name = "TanhBackward";
  static constexpr Saves saves = Saves::kOutput;
  static Tensor gradient(const Tensor& g, const Tensor& y) { return g * (1 - y * y); }
};

struct AsinhRule {
  using Op = ops::Asinh;
  static constexpr const char *name = "asinh_", *backward_name = "AsinhBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g * where_far(x, rsqrt(x * x + 1)); }
};

struct AcoshRule {
  using Op = ops::Acosh;
  static constexpr const char *name = "acosh_", *backward_name = "AcoshBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) {
    return g * where_far(x, rsqrt((x - 1) * (x + 1)));
  }
};

struct AtanhRule {
  using Op = ops::Atanh;
  static constexpr const char *name = "atanh_", *backward_name = "AtanhBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g / one_minus_square(x); }
};

}  // namespace

Tensor sin(const Tensor& self) { return unary_float<SinRule>(self); }
Tensor Tensor::sin() const { return tandem::sin(*this); }
Tensor& Tensor::sin_() { return unary_float_<SinRule>(*this); }
Tensor cos(const Tensor& self) { return unary_float<CosRule>(self); }
Tensor Tensor::cos() const { return tandem::cos(*this); }
Tensor& Tensor::cos_() { return unary_float_<CosRule>(*this); }
Tensor tan(const Tensor& self) { return unary_float<TanRule>(self); }
Tensor Tensor::tan() const { return tandem::tan(*this); }
Tensor& Tensor::tan_() { return unary_float_<TanRule>(*this); }
Tensor asin(const Tensor& self) { return unary_float<AsinRule>(self); }
Tensor Tensor::asin() const { return tandem::asin(*this); }
Tensor& Tensor::asin_() { return unary_float_<AsinRule>(*this); }
Tensor acos(const Tensor& self) { return unary_float<AcosRule>(self); }
Tensor Tensor::acos() const { return tandem::acos(*this); }
Tensor& Tensor::acos_() { return unary_float_<AcosRule>(*this); }
Tensor atan(const Tensor& self) { return unary_float<AtanRule>(self); }
Tensor Tensor::atan() const { return tandem::atan(*this); }
Tensor& Tensor::atan_() { return unary_float_<AtanRule>(*this); }
Tensor sinh(const Tensor& self) { return unary_float<SinhRule>(self); }
Tensor Tensor::sinh() const { return tandem::sinh(*this); }
Tensor& Tensor::sinh_() { return unary_float_<SinhRule>(*this); }
Tensor cosh(const Tensor& self) { return unary_float<CoshRule>(self); }
Tensor Tensor::cosh() const { return tandem::cosh(*this); }
Tensor& Tensor::cosh_() { return unary_float_<CoshRule>(*this); }
Tensor tanh(const Tensor& self) { return unary_float<TanhRule>(self); }
Tensor Tensor::tanh() const { return tandem::tanh(*this); }
Tensor& Tensor::tanh_() { return unary_float_<TanhRule>(*this); }
Tensor asinh(const Tensor& self) { return unary_float<AsinhRule>(self); }
Tensor Tensor::asinh() const { return tandem::asinh(*this); }
Tensor& Tensor::asinh_() { return unary_float_<AsinhRule>(*this); }
Tensor acosh(const Tensor& self) { return unary_float<AcoshRule>(self); }
Tensor Tensor::acosh() const { return tandem::acosh(*this); }
Tensor& Tensor::acosh_() { return unary_float_<AcoshRule>(*this); }
Tensor atanh(const Tensor& self) { return unary_float<AtanhRule>(self); }
Tensor Tensor::atanh() const { return tandem::atanh(*this); }
Tensor& Tensor::atanh_() { return unary_float_<AtanhRule>(*this); }

}  // namespace tandem
