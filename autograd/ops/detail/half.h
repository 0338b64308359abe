// Composite operations compute the half types in float32 and round their result once. Internal to their sources.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// float32 in place of a half type, recorded. Other tensors, and undefined ones, are returned as they are.
inline Tensor widened(const Tensor& t) {
  return t.defined() && isReducedFloatingType(t.scalar_type()) ? t.to(kFloat) : t;
}

/// The dtype that the floating point tensors promote to if it is a half type.
/// Undefined tensors and integers do not count.
template <class... Tensors>
optional<ScalarType> half_result(const Tensors&... tensors) {
  ScalarType type = ScalarType::Undefined;
  const auto add = [&type](const Tensor& t) {
    if (t.defined() && is_differentiable(t.scalar_type())) type = promote_types(type, t.scalar_type());
  };
  (add(tensors), ...);
  return isReducedFloatingType(type) ? optional<ScalarType>(type) : nullopt;
}

/// The number as an element of a half type; unchanged for other dtypes.
inline Scalar rounded_number(const Scalar& number, ScalarType type) {
  if (type == kHalf) return Scalar(static_cast<double>(static_cast<float>(Half(number.to<float>()))));
  if (type == kBFloat16) return Scalar(static_cast<double>(static_cast<float>(BFloat16(number.to<float>()))));
  return number;
}

}  // namespace tandem::autograd
