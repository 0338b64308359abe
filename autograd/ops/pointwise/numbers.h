// Integers' divisors and the parts of floating point numbers.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// ---- integers: shapes broadcast, dtypes promote. Throws Error for other dtypes.
/// The greatest common divisor and the least common multiple, not negative.
Tensor gcd(const Tensor& self, const Tensor& other);
Tensor& gcd_(Tensor& self, const Tensor& other);
Tensor lcm(const Tensor& self, const Tensor& other);
Tensor& lcm_(Tensor& self, const Tensor& other);

// ---- floating point numbers
/// The number that follows self in the direction of other. float32 or float64, without gradient.
Tensor nextafter(const Tensor& self, const Tensor& other);
Tensor& nextafter_(Tensor& self, const Tensor& other);
/// (mantissa, int32 exponent) with self = mantissa 2^exponent and |mantissa| in [1/2, 1); exponent 0 for 0, infinities
/// and NaN. The gradient goes through the mantissa.
std::tuple<Tensor, Tensor> frexp(const Tensor& self);
/// self 2^other
Tensor ldexp(const Tensor& self, const Tensor& other);
Tensor& ldexp_(Tensor& self, const Tensor& other);

}  // namespace tandem
