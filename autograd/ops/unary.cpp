// Exponential family.
#include "tandem/autograd/ops/unary.h"

#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/unary_op.h"

namespace tandem {
namespace {
using namespace autograd;

struct NegRule {
  using Op = ops::Neg;
  static constexpr const char *name = "neg_", *backward_name = "NegBackward";
  static constexpr Saves saves = Saves::kNothing;
  static Tensor gradient(const Tensor& g, const Tensor&) { return g.neg(); }
};

struct ExpRule {
  using Op = ops::Exp;
  static constexpr const char *name = "exp_", *backward_name = "ExpBackward";
  static constexpr Saves saves = Saves::kOutput;
  static Tensor gradient(const Tensor& g, const Tensor& y) { return g * y; }
};

}  // namespace

Tensor neg(const Tensor& self) { return unary<NegRule>(self); }
Tensor Tensor::neg() const { return tandem::neg(*this); }
Tensor& Tensor::neg_() { return unary_<NegRule>(*this); }
Tensor exp(const Tensor& self) { return unary_float<ExpRule>(self); }
Tensor Tensor::exp() const { return tandem::exp(*this); }
Tensor& Tensor::exp_() { return unary_float_<ExpRule>(*this); }

}  // namespace tandem
