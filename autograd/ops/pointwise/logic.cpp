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

Tensor bitwise_and(const Tensor& self, const Tensor& other) { return bits<ops::BitAnd>(self, other); }
Tensor bitwise_and(const Tensor& self, const Scalar& other) { return bits<ops::BitAnd>(self, other); }
Tensor bitwise_or(const Tensor& self, const Tensor& other) { return bits<ops::BitOr>(self, other); }
Tensor bitwise_or(const Tensor& self, const Scalar& other) { return bits<ops::BitOr>(self, other); }
Tensor bitwise_xor(const Tensor& self, const Tensor& other) { return bits<ops::BitXor>(self, other); }
Tensor bitwise_xor(const Tensor& self, const Scalar& other) { return bits<ops::BitXor>(self, other); }
Tensor bitwise_left_shift(const Tensor& self, const Tensor& other) { return bits<ops::ShiftLeft>(self, other); }
Tensor bitwise_left_shift(const Tensor& self, const Scalar& other) { return bits<ops::ShiftLeft>(self, other); }
Tensor bitwise_right_shift(const Tensor& self, const Tensor& other) { return bits<ops::ShiftRight>(self, other); }
Tensor bitwise_right_shift(const Tensor& self, const Scalar& other) { return bits<ops::ShiftRight>(self, other); }
Tensor bitwise_left_shift(const Scalar& self, const Tensor& other) {
  return bitwise_left_shift(full({}, self, other.options().dtype(natural_type(self))), other);
}
Tensor bitwise_right_shift(const Scalar& self, const Tensor& other) {
  return bitwise_right_shift(full({}, self, other.options().dtype(natural_type(self))), other);
}

Tensor Tensor::bitwise_and(const Tensor& other) const { return tandem::bitwise_and(*this, other); }
Tensor Tensor::bitwise_and(const Scalar& other) const { return tandem::bitwise_and(*this, other); }
Tensor Tensor::bitwise_or(const Tensor& other) const { return tandem::bitwise_or(*this, other); }
Tensor Tensor::bitwise_or(const Scalar& other) const { return tandem::bitwise_or(*this, other); }
Tensor Tensor::bitwise_xor(const Tensor& other) const { return tandem::bitwise_xor(*this, other); }
Tensor Tensor::bitwise_xor(const Scalar& other) const { return tandem::bitwise_xor(*this, other); }
Tensor& Tensor::bitwise_and_(const Tensor& other) const { return bits_<ops::BitAnd>(*this, other); }
Tensor& Tensor::bitwise_and_(const Scalar& other) const { return bits_<ops::BitAnd>(*this, other); }
Tensor& Tensor::bitwise_or_(const Tensor& other) const { return bits_<ops::BitOr>(*this, other); }
Tensor& Tensor::bitwise_or_(const Scalar& other) const { return bits_<ops::BitOr>(*this, other); }
Tensor& Tensor::bitwise_xor_(const Tensor& other) const { return bits_<ops::BitXor>(*this, other); }
Tensor& Tensor::bitwise_xor_(const Scalar& other) const { return bits_<ops::BitXor>(*this, other); }

Tensor Tensor::bitwise_left_shift(const Tensor& other) const { return tandem::bitwise_left_shift(*this, other); }
Tensor& Tensor::bitwise_left_shift_(const Tensor& other) const { return bits_<ops::ShiftLeft>(*this, other); }
Tensor Tensor::bitwise_left_shift(const Scalar& other) const { return tandem::bitwise_left_shift(*this, other); }
Tensor& Tensor::bitwise_left_shift_(const Scalar& other) const { return bits_<ops::ShiftLeft>(*this, other); }
Tensor Tensor::bitwise_right_shift(const Tensor& other) const { return tandem::bitwise_right_shift(*this, other); }
Tensor& Tensor::bitwise_right_shift_(const Tensor& other) const { return bits_<ops::ShiftRight>(*this, other); }
Tensor Tensor::bitwise_right_shift(const Scalar& other) const { return tandem::bitwise_right_shift(*this, other); }
Tensor& Tensor::bitwise_right_shift_(const Scalar& other) const { return bits_<ops::ShiftRight>(*this, other); }

Tensor logical_not(const Tensor& self) { return self == 0; }
Tensor Tensor::logical_not() const { return tandem::logical_not(*this); }
Tensor& Tensor::logical_not_() const {
  check_inplace(*this, "logical_not_");
  copy_raw(*this, tandem::logical_not(detach()));
  wrote(*this, "logical_not_");
  return tandem::detail::mutable_handle(*this);
}

}  // namespace tandem
