// Type promotion: dimensioned tensors first, then 0-dimensional ones, then numbers; a later group matters
// only when its category (bool < integer < floating point) is higher. PyTorch's rule.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

ScalarType result_type(const Tensor& a, const Tensor& b);
ScalarType result_type(const Tensor& a, const Scalar& b);
ScalarType result_type(TensorList tensors);

namespace autograd {
/// `t` as `type`, itself when it is of that type.
inline Tensor as_type(const Tensor& t, ScalarType type) { return t.dtype() == type ? t : t.to(type); }
/// Floating point inputs as they are, others as the default dtype: what exp, sqrt, … take.
inline Tensor as_float(const Tensor& t) {
  return is_floating_point(t.dtype()) ? t : t.to(get_default_dtype());
}
/// Throws Error for a number outside the range of `type`; fractions are cut, and unsigned types take negative
/// integers as C++ does.
void check_number_fits(const char* operation, const Scalar& value, ScalarType type);
/// Throws Error unless all are on one device; a 0-dim CPU tensor may join any.
void check_same_device(const char* operation, const Tensor& a, const Tensor& b);
}  // namespace autograd

}  // namespace tandem
