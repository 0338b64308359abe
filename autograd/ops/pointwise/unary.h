// Elementwise unary functions. The output has the input's shape; a trailing _ marks an in-place operation.
// Real-valued functions convert integer and bool tensors to the default dtype; their in-place forms throw Error,
// since such a tensor cannot hold the result.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// ---- any numeric dtype; the result keeps it
Tensor neg(const Tensor& self);
Tensor abs(const Tensor& self);
Tensor square(const Tensor& self);
/// max(self, 0)
Tensor relu(const Tensor& self);
Tensor& relu_(const Tensor& self);
/// -1, 0 or 1; also for bool.
Tensor sign(const Tensor& self);

// ---- rounding: integers are unchanged; the gradient is zero
Tensor floor(const Tensor& self);
Tensor ceil(const Tensor& self);
/// Rounds half to even.
Tensor round(const Tensor& self);
/// Rounds to a multiple of 10^-decimals; floating point unless decimals is 0.
Tensor round(const Tensor& self, int64_t decimals);
Tensor trunc(const Tensor& self);
/// self - trunc(self); floating point, gradient g.
Tensor frac(const Tensor& self);

// ---- real-valued functions
Tensor exp(const Tensor& self);
Tensor exp2(const Tensor& self);
/// e^self - 1
Tensor expm1(const Tensor& self);
Tensor log(const Tensor& self);
Tensor log2(const Tensor& self);
Tensor log10(const Tensor& self);
/// log(1 + self)
Tensor log1p(const Tensor& self);
Tensor erf(const Tensor& self);
/// 1 - erf(self)
Tensor erfc(const Tensor& self);
Tensor sqrt(const Tensor& self);
/// 1 / sqrt(self)
Tensor rsqrt(const Tensor& self);
Tensor reciprocal(const Tensor& self);
Tensor sigmoid(const Tensor& self);
Tensor sin(const Tensor& self);
Tensor cos(const Tensor& self);
Tensor tan(const Tensor& self);
Tensor asin(const Tensor& self);
Tensor acos(const Tensor& self);
Tensor atan(const Tensor& self);
Tensor sinh(const Tensor& self);
Tensor cosh(const Tensor& self);
Tensor tanh(const Tensor& self);
Tensor asinh(const Tensor& self);
Tensor acosh(const Tensor& self);
Tensor atanh(const Tensor& self);
/// log(x / (1 - x)), with x clamped to [eps, 1 - eps] if eps is given.
Tensor logit(const Tensor& self, optional<double> eps = nullopt);
/// sin(pi x) / (pi x), and 1 at 0.
Tensor sinc(const Tensor& self);
Tensor deg2rad(const Tensor& self);
Tensor rad2deg(const Tensor& self);

// ---- bits and predicates
/// ~self for integers, !self for bool.
Tensor bitwise_not(const Tensor& self);
/// self == 0, as bool.
Tensor logical_not(const Tensor& self);
/// The result is bool. Integers and bool are never NaN or infinite.
Tensor isnan(const Tensor& self);
Tensor isinf(const Tensor& self);
Tensor isfinite(const Tensor& self);
/// The sign bit as bool; it is also set for -0 and some NaNs.
Tensor signbit(const Tensor& self);
Tensor isposinf(const Tensor& self);
Tensor isneginf(const Tensor& self);
/// Replaces NaN, ∞ and -∞. By default, an infinity becomes the dtype's largest (lowest) number.
Tensor nan_to_num(const Tensor& self, optional<double> nan = nullopt, optional<double> posinf = nullopt,
                  optional<double> neginf = nullopt);

// ---- bounds
/// Values below min become min, then those above max become max; at least one bound is required. NaN stays.
/// Gradient: g where self is strictly between the bounds.
Tensor clamp(const Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt);
/// Bounds broadcast; one of them may be undefined. Where a bound applies, the gradient goes to it; where self
/// equals the bound, each gets half.
Tensor clamp(const Tensor& self, const Tensor& min = {}, const Tensor& max = {});
Tensor clamp_min(const Tensor& self, const Scalar& min);
Tensor clamp_max(const Tensor& self, const Scalar& max);
Tensor clamp_min(const Tensor& self, const Tensor& min);
Tensor clamp_max(const Tensor& self, const Tensor& max);
inline Tensor clip(const Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt) {
  return clamp(self, min, max);
}

inline Tensor absolute(const Tensor& self) { return abs(self); }
inline Tensor negative(const Tensor& self) { return neg(self); }

}  // namespace tandem
