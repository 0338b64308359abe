// Functions that write to a given tensor (out_write.h): functions under their other names.
#pragma once
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/torch_names/other_names.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

inline Tensor& arccos_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("arccos_out", out)(tandem::arccos(self));
}
inline Tensor& arccosh_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("arccosh_out", out)(tandem::arccosh(self));
}
inline Tensor& arcsin_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("arcsin_out", out)(tandem::arcsin(self));
}
inline Tensor& arcsinh_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("arcsinh_out", out)(tandem::arcsinh(self));
}
inline Tensor& arctan_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("arctan_out", out)(tandem::arctan(self));
}
inline Tensor& arctan2_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("arctan2_out", out)(tandem::arctan2(self, other));
}
inline Tensor& arctanh_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("arctanh_out", out)(tandem::arctanh(self));
}
inline Tensor& clip_out(Tensor& out, const Tensor& self, const optional<Scalar>& min,
                        const optional<Scalar>& max = nullopt) {
  return autograd::write_out("clip_out", out)(tandem::clip(self, min, max));
}
inline Tensor& clip_out(Tensor& out, const Tensor& self, const Tensor& min = {}, const Tensor& max = {}) {
  return autograd::write_out("clip_out", out)(tandem::clip(self, min, max));
}
inline Tensor& concat_out(Tensor& out, TensorList tensors, int64_t dim = 0) {
  return autograd::write_out("concat_out", out)(tandem::concat(tensors, dim));
}
inline Tensor& fix_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("fix_out", out)(tandem::fix(self));
}
inline Tensor& greater_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("greater_out", out)(tandem::greater(self, other));
}
inline Tensor& greater_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("greater_out", out)(tandem::greater(self, other));
}
inline Tensor& greater_equal_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("greater_equal_out", out)(tandem::greater_equal(self, other));
}
inline Tensor& greater_equal_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("greater_equal_out", out)(tandem::greater_equal(self, other));
}
inline Tensor& less_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("less_out", out)(tandem::less(self, other));
}
inline Tensor& less_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("less_out", out)(tandem::less(self, other));
}
inline Tensor& less_equal_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("less_equal_out", out)(tandem::less_equal(self, other));
}
inline Tensor& less_equal_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("less_equal_out", out)(tandem::less_equal(self, other));
}
inline Tensor& not_equal_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("not_equal_out", out)(tandem::not_equal(self, other));
}
inline Tensor& not_equal_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("not_equal_out", out)(tandem::not_equal(self, other));
}
inline Tensor& row_stack_out(Tensor& out, TensorList tensors) {
  return autograd::write_out("row_stack_out", out)(tandem::row_stack(tensors));
}
inline Tensor& sgn_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("sgn_out", out)(tandem::sgn(self));
}

}  // namespace tandem
