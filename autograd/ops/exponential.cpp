// Exponentials, logarithms and the error function.
#include "tandem/autograd/ops/unary.h"

#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/unary_op.h"

namespace tandem {
namespace {
using namespace autograd;

struct ExpRule {
  using Op = ops::Exp;
  static constexpr const char *name = "exp_", *backward_name = "ExpBackward";
  static constexpr Saves saves = Saves::kOutput;
  static Tensor gradient(const Tensor& g, const Tensor& y) { return g * y; }
};

struct Exp2Rule {
  using Op = ops::Exp2;
  static constexpr const char *name = "exp2_", *backward_name = "Exp2Backward";
  static constexpr Saves saves = Saves::kOutput;
  static Tensor gradient(const Tensor& g, const Tensor& y) { return g * (y * 0.6931471805599453); }
};

struct Expm1Rule {
  using Op = ops::Expm1;
  static constexpr const char *name = "expm1_", *backward_name = "Expm1Backward";
  static constexpr Saves saves = Saves::kOutput;
  static Tensor gradient(const Tensor& g, const Tensor& y) { return g * (y + 1); }
};

struct LogRule {
  using Op = ops::Log;
  static constexpr const char *name = "log_", *backward_name = "LogBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g / x; }
};

struct Log2Rule {
  using Op = ops::Log2;
  static constexpr const char *name = "log2_", *backward_name = "Log2Backward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g / (x * 0.6931471805599453); }
};

struct Log10Rule {
  using Op = ops::Log10;
  static constexpr const char *name = "log10_", *backward_name = "Log10Backward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g / (x * 2.302585092994046); }
};

struct Log1pRule {
  using Op = ops::Log1p;
  static constexpr const char *name = "log1p_", *backward_name = "Log1pBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g / (x + 1); }
};

struct ErfRule {
  using Op = ops::Erf;
  static constexpr const char *name = "erf_", *backward_name = "ErfBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g * (1.1283791670955126 * exp(-x * x)); }
};

struct ErfcRule {
  using Op = ops::Erfc;
  static constexpr const char *name = "erfc_", *backward_name = "ErfcBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g * (-1.1283791670955126 * exp(-x * x)); }
};

}  // namespace

Tensor exp(const Tensor& self) { return unary_float<ExpRule>(self); }
Tensor Tensor::exp() const { return tandem::exp(*this); }
Tensor& Tensor::exp_() { return unary_float_<ExpRule>(*this); }
Tensor exp2(const Tensor& self) { return unary_float<Exp2Rule>(self); }
Tensor Tensor::exp2() const { return tandem::exp2(*this); }
Tensor& Tensor::exp2_() { return unary_float_<Exp2Rule>(*this); }
Tensor expm1(const Tensor& self) { return unary_float<Expm1Rule>(self); }
Tensor Tensor::expm1() const { return tandem::expm1(*this); }
Tensor& Tensor::expm1_() { return unary_float_<Expm1Rule>(*this); }
Tensor log(const Tensor& self) { return unary_float<LogRule>(self); }
Tensor Tensor::log() const { return tandem::log(*this); }
Tensor& Tensor::log_() { return unary_float_<LogRule>(*this); }
Tensor log2(const Tensor& self) { return unary_float<Log2Rule>(self); }
Tensor Tensor::log2() const { return tandem::log2(*this); }
Tensor& Tensor::log2_() { return unary_float_<Log2Rule>(*this); }
Tensor log10(const Tensor& self) { return unary_float<Log10Rule>(self); }
Tensor Tensor::log10() const { return tandem::log10(*this); }
Tensor& Tensor::log10_() { return unary_float_<Log10Rule>(*this); }
Tensor log1p(const Tensor& self) { return unary_float<Log1pRule>(self); }
Tensor Tensor::log1p() const { return tandem::log1p(*this); }
Tensor& Tensor::log1p_() { return unary_float_<Log1pRule>(*this); }
Tensor erf(const Tensor& self) { return unary_float<ErfRule>(self); }
Tensor Tensor::erf() const { return tandem::erf(*this); }
Tensor& Tensor::erf_() { return unary_float_<ErfRule>(*this); }
Tensor erfc(const Tensor& self) { return unary_float<ErfcRule>(self); }
Tensor Tensor::erfc() const { return tandem::erfc(*this); }
Tensor& Tensor::erfc_() { return unary_float_<ErfcRule>(*this); }

}  // namespace tandem
