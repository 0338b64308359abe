// Functions that write to a given tensor (out_write.h): comparisons and logic.
#pragma once
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

inline Tensor& bitwise_and_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("bitwise_and_out", out)(tandem::bitwise_and(self, other));
}
inline Tensor& bitwise_and_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("bitwise_and_out", out)(tandem::bitwise_and(self, other));
}
inline Tensor& bitwise_and_out(Tensor& out, const Scalar& self, const Tensor& other) {
  return autograd::write_out("bitwise_and_out", out)(tandem::bitwise_and(self, other));
}
inline Tensor& bitwise_left_shift_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("bitwise_left_shift_out", out)(tandem::bitwise_left_shift(self, other));
}
inline Tensor& bitwise_left_shift_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("bitwise_left_shift_out", out)(tandem::bitwise_left_shift(self, other));
}
inline Tensor& bitwise_left_shift_out(Tensor& out, const Scalar& self, const Tensor& other) {
  return autograd::write_out("bitwise_left_shift_out", out)(tandem::bitwise_left_shift(self, other));
}
inline Tensor& bitwise_or_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("bitwise_or_out", out)(tandem::bitwise_or(self, other));
}
inline Tensor& bitwise_or_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("bitwise_or_out", out)(tandem::bitwise_or(self, other));
}
inline Tensor& bitwise_or_out(Tensor& out, const Scalar& self, const Tensor& other) {
  return autograd::write_out("bitwise_or_out", out)(tandem::bitwise_or(self, other));
}
inline Tensor& bitwise_right_shift_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("bitwise_right_shift_out", out)(tandem::bitwise_right_shift(self, other));
}
inline Tensor& bitwise_right_shift_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("bitwise_right_shift_out", out)(tandem::bitwise_right_shift(self, other));
}
inline Tensor& bitwise_right_shift_out(Tensor& out, const Scalar& self, const Tensor& other) {
  return autograd::write_out("bitwise_right_shift_out", out)(tandem::bitwise_right_shift(self, other));
}
inline Tensor& bitwise_xor_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("bitwise_xor_out", out)(tandem::bitwise_xor(self, other));
}
inline Tensor& bitwise_xor_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("bitwise_xor_out", out)(tandem::bitwise_xor(self, other));
}
inline Tensor& bitwise_xor_out(Tensor& out, const Scalar& self, const Tensor& other) {
  return autograd::write_out("bitwise_xor_out", out)(tandem::bitwise_xor(self, other));
}
inline Tensor& eq_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("eq_out", out)(tandem::eq(self, other));
}
inline Tensor& eq_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("eq_out", out)(tandem::eq(self, other));
}
inline Tensor& ge_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("ge_out", out)(tandem::ge(self, other));
}
inline Tensor& ge_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("ge_out", out)(tandem::ge(self, other));
}
inline Tensor& gt_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("gt_out", out)(tandem::gt(self, other));
}
inline Tensor& gt_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("gt_out", out)(tandem::gt(self, other));
}
inline Tensor& le_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("le_out", out)(tandem::le(self, other));
}
inline Tensor& le_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("le_out", out)(tandem::le(self, other));
}
inline Tensor& logical_and_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("logical_and_out", out)(tandem::logical_and(self, other));
}
inline Tensor& logical_or_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("logical_or_out", out)(tandem::logical_or(self, other));
}
inline Tensor& logical_xor_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("logical_xor_out", out)(tandem::logical_xor(self, other));
}
inline Tensor& lt_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("lt_out", out)(tandem::lt(self, other));
}
inline Tensor& lt_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("lt_out", out)(tandem::lt(self, other));
}
inline Tensor& ne_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("ne_out", out)(tandem::ne(self, other));
}
inline Tensor& ne_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("ne_out", out)(tandem::ne(self, other));
}

}  // namespace tandem
