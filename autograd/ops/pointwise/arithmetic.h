// Elementwise arithmetic on two tensors, or a tensor and a number: shapes broadcast, dtypes promote. Throws
// Error for shapes that do not broadcast and for tensors on different devices.
#pragma once
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// self + alpha other
Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
/// self - alpha other. Throws Error for bool.
Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor sub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
/// other - alpha self
Tensor rsub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor rsub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor mul(const Tensor& self, const Tensor& other);
Tensor mul(const Tensor& self, const Scalar& other);

/// True division: integers produce the default dtype.
Tensor div(const Tensor& self, const Tensor& other);
Tensor div(const Tensor& self, const Scalar& other);
Tensor div(const Scalar& self, const Tensor& other);
/// The quotient rounded: "trunc" (towards zero) or "floor". Result in the promoted dtype; the gradient is
/// zero. Integer division by zero throws Error.
Tensor div(const Tensor& self, const Tensor& other, optional<std::string_view> rounding_mode);
Tensor div(const Tensor& self, const Scalar& other, optional<std::string_view> rounding_mode);
Tensor floor_divide(const Tensor& self, const Tensor& other);
Tensor floor_divide(const Tensor& self, const Scalar& other);
/// The remainder with the sign of self (C's fmod), and with the sign of other (Python's %). Integer division
/// by zero throws Error.
Tensor fmod(const Tensor& self, const Tensor& other);
Tensor fmod(const Tensor& self, const Scalar& other);
Tensor remainder(const Tensor& self, const Tensor& other);
Tensor remainder(const Tensor& self, const Scalar& other);
Tensor remainder(const Scalar& self, const Tensor& other);

/// self to the power exponent. Throws Error for integers with a negative number as exponent.
Tensor pow(const Tensor& self, const Tensor& exponent);
Tensor pow(const Tensor& self, const Scalar& exponent);
Tensor pow(const Scalar& self, const Tensor& exponent);
/// pow in float64.
Tensor float_power(const Tensor& self, const Tensor& exponent);
Tensor float_power(const Tensor& self, const Scalar& exponent);
Tensor float_power(const Scalar& self, const Tensor& exponent);

/// The larger (smaller) of the two; NaN if either is NaN. At ties each argument gets half of the gradient.
Tensor maximum(const Tensor& self, const Tensor& other);
Tensor minimum(const Tensor& self, const Tensor& other);
inline Tensor max(const Tensor& self, const Tensor& other) { return maximum(self, other); }
inline Tensor min(const Tensor& self, const Tensor& other) { return minimum(self, other); }
/// The larger (smaller) of both, the one that is no NaN. At ties each gets half of the gradient.
Tensor fmax(const Tensor& self, const Tensor& other);
Tensor fmin(const Tensor& self, const Tensor& other);
/// The angle of the point (other, self), from -pi to pi; and sqrt(self² + other²). Integers produce the
/// default dtype.
Tensor atan2(const Tensor& self, const Tensor& other);
Tensor hypot(const Tensor& self, const Tensor& other);
/// |self| with the sign bit of other; integers give the default dtype.
Tensor copysign(const Tensor& self, const Tensor& other);
Tensor copysign(const Tensor& self, const Scalar& other);
/// self log(other), 0 where self is 0 and other no NaN.
Tensor xlogy(const Tensor& self, const Tensor& other);
Tensor xlogy(const Tensor& self, const Scalar& other);
Tensor xlogy(const Scalar& self, const Tensor& other);
/// log(e^self + e^other), and the same to base 2. Floating point.
Tensor logaddexp(const Tensor& self, const Tensor& other);
Tensor logaddexp2(const Tensor& self, const Tensor& other);
/// 0 below 0, 1 above, `values` at 0, 0 at NaN. Without gradient; one dtype.
Tensor heaviside(const Tensor& self, const Tensor& values);

/// self + value a b, and self + value a / b, computed in the promoted dtype.
Tensor addcmul(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value = 1);
Tensor addcdiv(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value = 1);
/// self + weight (end - self). Floating point; all of the same dtype.
Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight);
Tensor lerp(const Tensor& self, const Tensor& end, const Tensor& weight);

inline Tensor subtract(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return sub(a, b, alpha); }
inline Tensor multiply(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor divide(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor true_divide(const Tensor& a, const Tensor& b) { return div(a, b); }

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator+(const Tensor& a, const Scalar& b) { return add(a, b); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator-(const Tensor& a, const Scalar& b) { return sub(a, b); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return rsub(b, a); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, const Scalar& b) { return mul(a, b); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator/(const Tensor& a, const Scalar& b) { return div(a, b); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return div(a, b); }
inline Tensor operator%(const Tensor& a, const Tensor& b) { return remainder(a, b); }
inline Tensor operator%(const Tensor& a, const Scalar& b) { return remainder(a, b); }
inline Tensor operator%(const Scalar& a, const Tensor& b) { return remainder(a, b); }

}  // namespace tandem
