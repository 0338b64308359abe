// Shared code of elementwise operations with three arguments.
#pragma once
#include "tandem/autograd/ops/pointwise/binary_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/ternary.h"

namespace tandem::autograd {

/// The shape that three tensors broadcast to.
inline Dims broadcast_sizes(const Tensor& a, const Tensor& b, const Tensor& c, const char* operation) {
  return tandem::broadcast_sizes(tandem::broadcast_sizes(a.sizes(), b.sizes(), operation), c.sizes(), operation);
}
/// The device of the result. Throws Error when the arguments are on different devices.
inline Device device_of(const Tensor& a, const Tensor& b, const Tensor& c, const char* operation) {
  check_same_device(operation, a, b);
  const Tensor& first = a.dim() == 0 && b.dim() != 0 ? b : a;
  check_same_device(operation, first, c);
  return device_of(first, c);
}

/// Op on three tensors in `type`, without autograd.
template <class Op>
Tensor ternary_raw(const Tensor& a, const Tensor& b, const Tensor& c, ScalarType type, const Scalar& parameter = 0) {
  const Device device = device_of(a, b, c, Op::name);
  const Prepared x(a, type, device), y(b, type, device), z(c, type, device);
  Tensor out = empty_elementwise(broadcast_sizes(a, b, c, Op::name), type, device, a, b, c);
  backend(device).ternary.value.get<Op>()(out, x, y, z, parameter);
  return out;
}
/// The same with a number as the third argument.
template <class Op>
Tensor ternary_raw(const Tensor& a, const Tensor& b, const Scalar& c, ScalarType type, const Scalar& parameter = 0) {
  check_same_device(Op::name, a, b);
  const Device device = device_of(a, b);
  const Prepared x(a, type, device), y(b, type, device);
  Tensor out = empty_elementwise(tandem::broadcast_sizes(a.sizes(), b.sizes(), Op::name), type, device, a, b);
  backend(device).ternary.value.get<Op>()(out, x, y, c, parameter);
  return out;
}

}  // namespace tandem::autograd
