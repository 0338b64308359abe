// Type promotion by PyTorch's rule: dimensioned tensors come first, then 0-dim tensors, then numbers; a later group
// matters only if its category (bool < integer < floating point < complex) is higher.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

ScalarType result_type(const Tensor& a, const Tensor& b);
ScalarType result_type(const Tensor& a, const Scalar& b);
inline ScalarType result_type(const Scalar& a, const Tensor& b) { return result_type(b, a); }
ScalarType result_type(const Scalar& a, const Scalar& b);
ScalarType result_type(TensorList tensors);

namespace autograd {
/// The dtype that a tensor made of the number has: for fractions and complex numbers after the default dtype.
ScalarType natural_type(const Scalar& number);
/// `t` converted to `type`; `t` itself if it already has that type.
inline Tensor as_type(const Tensor& t, ScalarType type) { return t.dtype() == type ? t : t.to(type); }
/// `t` itself if it is floating point or complex, else converted to the default dtype, as exp, sqrt, … require.
inline Tensor as_float(const Tensor& t) { return is_differentiable(t.dtype()) ? t : t.to(get_default_dtype()); }
/// Throws Error if the number is outside the range of `type`. Fractions are allowed, as are negative integers for
/// unsigned types: conversion truncates or wraps them as C++ does.
void check_number_fits(const char* operation, const Scalar& value, ScalarType type);
/// Throws Error unless both are on the same device; a 0-dim CPU tensor is allowed with any device.
void check_same_device(const char* operation, const Tensor& a, const Tensor& b);
}  // namespace autograd

}  // namespace tandem
