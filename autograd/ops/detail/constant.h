// Tensors that the host computes from numbers and sizes.
#pragma once
#include "tandem/core/backend/constant_copy.h"
#include "tandem/core/capture/recorded_memory.h"
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// A row-major tensor on the host, whose elements an operation is about to compute from numbers and sizes.
inline Tensor host_table(IntArrayRef sizes, ScalarType dtype) {
  const tandem::detail::OutsideRecording scope;
  return empty_raw(sizes, dtype, Device(kCPU, 0));
}

/// `host`, whose elements follow from an operation's numbers and sizes, on `device`: a captured step may contain the copy
/// of at most 1 MiB.
inline Tensor constant_on(const Tensor& host, Device device) {
  const tandem::detail::ConstantCopies scope;
  return host.to(device);
}
inline Tensor constant_on(const Tensor& host, Device device, ScalarType dtype) {
  const tandem::detail::ConstantCopies scope;
  return host.to(device, dtype);
}

}  // namespace tandem::autograd
