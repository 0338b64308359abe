// Shared code of elementwise operations with two arguments: promotion, broadcasting, the kernel call.
#pragma once
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/reduce/sum_to.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/binary.h"
#include "tandem/core/formulas/arithmetic_ops.h"
#include "tandem/core/formulas/bitwise_ops.h"
#include "tandem/core/formulas/compare_ops.h"
#include "tandem/core/formulas/ternary_ops.h"
#include "tandem/core/memory_format.h"

namespace tandem::autograd {

/// An argument converted to `type` and moved to `device`. Owns the converted tensor, if there is one.
class Prepared {
 public:
  Prepared(const Tensor& t, ScalarType type, Device device) {
    if (t.dtype() == type && t.device() == device) [[likely]] {
      tensor_ = &t;
    } else {
      NoGradGuard no_grad;
      made_ = t.to(device, type);
      tensor_ = &made_;
    }
  }
  operator Operand() const { return Operand(*tensor_); }
  const Tensor& tensor() const { return *tensor_; }

 private:
  Tensor made_;
  const Tensor* tensor_;
};

inline Device device_of(const Tensor& a, const Tensor& b) {
  return a.dim() == 0 && b.dim() != 0 ? b.device() : a.device();
}

/// Calls the kernel of the operation with this index in ops::BinaryOps, on the device of `out`. Not inline, because the
/// templates below have many users.
void run_binary(std::size_t op, const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter);
template <class Op>
void run_binary(const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter) {
  run_binary(index_of<Op, ops::BinaryOps>, out, a, b, parameter);
}

/// Op on two tensors in `type`, without autograd.
template <class Op>
Tensor binary_raw(const Tensor& a, const Tensor& b, ScalarType type, const Scalar& parameter = 0) {
  check_same_device(Op::name, a, b);
  const Device device = device_of(a, b);
  const Prepared x(a, type, device), y(b, type, device);
  Tensor out = a.sizes() == b.sizes()
                   ? empty_elementwise(a.sizes(), type, device, a, b)
                   : empty_elementwise(broadcast_sizes(a.sizes(), b.sizes(), Op::name), type, device, a, b);
  run_binary<Op>(out, x, y, parameter);
  return out;
}

/// Op on a tensor and a number (on either side) in `type`, without autograd.
template <class Op>
Tensor binary_raw(const Tensor& a, const Scalar& b, ScalarType type, const Scalar& parameter = 0) {
  const Prepared x(a, type, a.device());
  Tensor out = empty_elementwise(a, type);
  run_binary<Op>(out, x, b, parameter);
  return out;
}
template <class Op>
Tensor binary_raw(const Scalar& a, const Tensor& b, ScalarType type, const Scalar& parameter = 0) {
  const Prepared y(b, type, b.device());
  Tensor out = empty_elementwise(b, type);
  run_binary<Op>(out, a, y, parameter);
  return out;
}

/// self = Op(self, b) in place. Throws Error when the result has a different shape, or a category that self
/// cannot hold.
template <class Op>
void binary_into(const Tensor& self, const Tensor& b, ScalarType type, const Scalar& parameter = 0) {
  check_same_device(Op::name, self, b);
  if (self.sizes() != b.sizes())
    check(broadcast_sizes(self.sizes(), b.sizes(), Op::name) == Dims(self.sizes()), Op::name,
          "_: the result does not fit in ", self, ": the other operand is ", b);
  const Prepared y(b, type, self.device());
  if (type == self.dtype()) {
    // The other operand may share the memory in a different order: then it is copied first.
    const bool crossed = y.tensor().storage() == self.storage() && !y.tensor().is_same(self) &&
                         (y.tensor().data_ptr() != self.data_ptr() || y.tensor().sizes() != self.sizes() ||
                          y.tensor().strides() != self.strides());
    run_binary<Op>(self, self, crossed ? y.tensor().clone() : y.tensor(), parameter);
    return;
  }
  copy_raw(self, binary_raw<Op>(self.detach(), b, type, parameter));
}
template <class Op>
void binary_into(const Tensor& self, const Scalar& b, ScalarType type, const Scalar& parameter = 0) {
  if (type == self.dtype())
    run_binary<Op>(self, self, b, parameter);
  else
    copy_raw(self, binary_raw<Op>(self.detach(), b, type, parameter));
}

/// Throws Error when an in-place result of `type` cannot be stored in self.
void check_result_fits(const char* operation, const Tensor& self, ScalarType type);

}  // namespace tandem::autograd
