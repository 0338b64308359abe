// Logical and bitwise operations. No gradients.
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/binary_op.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"

namespace tandem {
namespace {
using namespace autograd;

// Integers and bool only; other dtypes are rejected.
template <class Op, class B>
Tensor bits(const Tensor& a, const B& b) {
  const ScalarType type = result_type(a, b);
  check(is_integral(type, true), Op::name, ": not defined for ", type, ", only for integers and bool");
  return binary_raw<Op>(a, b, type);
}
template <class Op, class B>
Tensor& bits_(const Tensor& a, const B& b) {
  const ScalarType type = result_type(a, b);
  check(is_integral(type, true), Op::name, "_: not defined for ", type, ", only for integers and bool");
  check_result_fits(Op::name, a, type);
  check_inplace(a, Op::name);
  binary_into<Op>(a, b, type);
  wrote(a, Op::name);
  return tandem::detail::mutable_handle(a);
}

}  // namespace

// The functions and the members of Tensor.
#define TANDEM_BITWISE(f, Op)                                                              \
  Tensor f(const Tensor& self, const Tensor& other) { return bits<ops::Op>(self, other); } \
  Tensor f(const Tensor& self, const Scalar& other) { return bits<ops::Op>(self, other); } \
  Tensor Tensor::f(const Tensor& other) const { return tandem::f(*this, other); }          \
  Tensor Tensor::f(const Scalar& other) const { return tandem::f(*this, other); }          \
  Tensor& Tensor::f##_(const Tensor& other) const { return bits_<ops::Op>(*this, other); } \
  Tensor& Tensor::f##_(const Scalar& other) const { return bits_<ops::Op>(*this, other); }
TANDEM_BITWISE(bitwise_and, BitAnd)
TANDEM_BITWISE(bitwise_or, BitOr)
TANDEM_BITWISE(bitwise_xor, BitXor)
TANDEM_BITWISE(bitwise_left_shift, ShiftLeft)
TANDEM_BITWISE(bitwise_right_shift, ShiftRight)
#undef TANDEM_BITWISE

Tensor bitwise_left_shift(const Scalar& self, const Tensor& other) {
  return bitwise_left_shift(full({}, self, other.options().dtype(natural_type(self))), other);
}
Tensor bitwise_right_shift(const Scalar& self, const Tensor& other) {
  return bitwise_right_shift(full({}, self, other.options().dtype(natural_type(self))), other);
}

Tensor logical_not(const Tensor& self) { return self == 0; }
Tensor Tensor::logical_not() const { return tandem::logical_not(*this); }
Tensor& Tensor::logical_not_() const {
  check_inplace(*this, "logical_not_");
  copy_raw(*this, tandem::logical_not(detach()));
  wrote(*this, "logical_not_");
  return tandem::detail::mutable_handle(*this);
}

}  // namespace tandem
