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

// Functions that autocast computes in float32 on CUDA.
template <class Op>
Tensor unary_in_range(const Tensor& x) {
  if (const auto to = autocast::full_precision_on_cuda(x)) return unary_float<Op>(to(x));
  return unary_float<Op>(x);
}

template <class Op>
Tensor& unary_in_range_(const Tensor& x) {
  return unary_float_<Op>(x);
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

// The function and the members of Tensor.
#define TANDEM_UNARY(f, run, Op)                              \
  Tensor f(const Tensor& self) { return run<ops::Op>(self); } \
  Tensor Tensor::f() const { return tandem::f(*this); }       \
  Tensor& Tensor::f##_() const { return run##_<ops::Op>(*this); }

// ---- sign, rounding and complement
Tensor neg(const Tensor& self) { return unary<ops::Neg>(not_bool(self, "neg")); }
Tensor Tensor::neg() const { return tandem::neg(*this); }
Tensor& Tensor::neg_() const {
  not_bool(*this, "neg_");
  return unary_<ops::Neg>(*this);
}
TANDEM_UNARY(floor, rounded, Floor)
TANDEM_UNARY(ceil, rounded, Ceil)
TANDEM_UNARY(round, rounded, Round)
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
TANDEM_UNARY(trunc, rounded, Trunc)
TANDEM_UNARY(frac, unary, Frac)
TANDEM_UNARY(sign, unary, Sign)
TANDEM_UNARY(bitwise_not, unary, BitNot)

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
TANDEM_UNARY(sqrt, unary_float, Sqrt)
TANDEM_UNARY(rsqrt, unary_in_range, Rsqrt)
TANDEM_UNARY(reciprocal, unary_in_range, Reciprocal)
TANDEM_UNARY(sigmoid, unary_float, Sigmoid)
TANDEM_UNARY(relu, unary, Relu)
Tensor& relu_(const Tensor& self) { return self.relu_(); }

// ---- exponentials and logarithms
TANDEM_UNARY(exp, unary_in_range, Exp)
TANDEM_UNARY(exp2, unary_float, Exp2)
TANDEM_UNARY(expm1, unary_in_range, Expm1)
TANDEM_UNARY(log, unary_in_range, Log)
TANDEM_UNARY(log2, unary_in_range, Log2)
TANDEM_UNARY(log10, unary_in_range, Log10)
TANDEM_UNARY(log1p, unary_in_range, Log1p)
TANDEM_UNARY(erf, unary_float, Erf)
TANDEM_UNARY(erfc, unary_float, Erfc)

// ---- trigonometric and hyperbolic functions
TANDEM_UNARY(sin, unary_float, Sin)
TANDEM_UNARY(cos, unary_float, Cos)
TANDEM_UNARY(tan, unary_in_range, Tan)
TANDEM_UNARY(asin, unary_in_range, Asin)
TANDEM_UNARY(acos, unary_in_range, Acos)
TANDEM_UNARY(atan, unary_float, Atan)
TANDEM_UNARY(sinh, unary_in_range, Sinh)
TANDEM_UNARY(cosh, unary_in_range, Cosh)
TANDEM_UNARY(tanh, unary_float, Tanh)
TANDEM_UNARY(asinh, unary_float, Asinh)
TANDEM_UNARY(acosh, unary_float, Acosh)
TANDEM_UNARY(atanh, unary_float, Atanh)
#undef TANDEM_UNARY

}  // namespace tandem
