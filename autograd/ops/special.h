// Less common elementwise functions, composed of others. Shapes broadcast, dtypes promote.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// bool: the sign bit (of -0 and some NaN too).
Tensor signbit(const Tensor& self);
Tensor isposinf(const Tensor& self);
Tensor isneginf(const Tensor& self);
/// |self| with the sign bit of other; integers give the default dtype.
Tensor copysign(const Tensor& self, const Tensor& other);
Tensor copysign(const Tensor& self, const Scalar& other);
/// The larger (smaller) of both, the one that is no NaN. At ties each gets half of the gradient.
Tensor fmax(const Tensor& self, const Tensor& other);
Tensor fmin(const Tensor& self, const Tensor& other);
/// self log(other), 0 where self is 0 and other no NaN.
Tensor xlogy(const Tensor& self, const Tensor& other);
Tensor xlogy(const Tensor& self, const Scalar& other);
Tensor xlogy(const Scalar& self, const Tensor& other);
/// log(e^self + e^other), and the same to base 2. Floating point.
Tensor logaddexp(const Tensor& self, const Tensor& other);
Tensor logaddexp2(const Tensor& self, const Tensor& other);
/// 0 below 0, 1 above, `values` at 0, 0 at NaN. Without gradient; one dtype.
Tensor heaviside(const Tensor& self, const Tensor& values);
/// pow in float64.
Tensor float_power(const Tensor& self, const Tensor& exponent);
Tensor float_power(const Tensor& self, const Scalar& exponent);
Tensor float_power(const Scalar& self, const Tensor& exponent);
/// log(x / (1 - x)), x clamped to [eps, 1 - eps] where eps is given.
Tensor logit(const Tensor& self, optional<double> eps = nullopt);
/// sin(pi x) / (pi x), 1 at 0.
Tensor sinc(const Tensor& self);
Tensor deg2rad(const Tensor& self);
Tensor rad2deg(const Tensor& self);

}  // namespace tandem
