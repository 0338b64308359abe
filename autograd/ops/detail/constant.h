// Tensors of values that the host computes from sizes.
#pragma once
#include "tandem/core/backend/constant_copy.h"
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// `host`, whose elements depend on sizes alone, on `device`: a captured step may contain the copy.
inline Tensor constant_on(const Tensor& host, Device device) {
  const tandem::detail::ConstantCopies scope;
  return host.to(device);
}
inline Tensor constant_on(const Tensor& host, Device device, ScalarType dtype) {
  const tandem::detail::ConstantCopies scope;
  return host.to(device, dtype);
}

}  // namespace tandem::autograd
