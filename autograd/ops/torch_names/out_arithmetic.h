// Functions that write to a given tensor (out_write.h): arithmetic.
#pragma once
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/numbers.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

TANDEM_OUT(add, (const Tensor& self, const Tensor& other, const Scalar& alpha = 1), self, other, alpha)
TANDEM_OUT(add, (const Tensor& self, const Scalar& other, const Scalar& alpha = 1), self, other, alpha)
TANDEM_OUT(addcdiv, (const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1), self,
           tensor1, tensor2, value)
TANDEM_OUT(addcmul, (const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1), self,
           tensor1, tensor2, value)
TANDEM_OUT(atan2, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(copysign, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(copysign, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(div, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(div, (const Tensor& self, const Tensor& other, optional<std::string_view> rounding_mode), self, other,
           rounding_mode)
TANDEM_OUT(div, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(div, (const Tensor& self, const Scalar& other, optional<std::string_view> rounding_mode), self, other,
           rounding_mode)
TANDEM_OUT(divide, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(float_power, (const Tensor& self, const Tensor& exponent), self, exponent)
TANDEM_OUT(float_power, (const Scalar& self, const Tensor& exponent), self, exponent)
TANDEM_OUT(float_power, (const Tensor& self, const Scalar& exponent), self, exponent)
TANDEM_OUT(floor_divide, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(floor_divide, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(fmax, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(fmin, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(fmod, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(fmod, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(heaviside, (const Tensor& self, const Tensor& values), self, values)
TANDEM_OUT(hypot, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(lerp, (const Tensor& self, const Tensor& end, const Scalar& weight), self, end, weight)
TANDEM_OUT(lerp, (const Tensor& self, const Tensor& end, const Tensor& weight), self, end, weight)
TANDEM_OUT(logaddexp, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(logaddexp2, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT2(max, max, max_values, (const Tensor& self, int64_t dim, bool keepdim = false), self, dim, keepdim)
TANDEM_OUT(max, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(max, (const Tensor& self), self)
TANDEM_OUT(maximum, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT2(min, min, min_indices, (const Tensor& self, int64_t dim, bool keepdim = false), self, dim, keepdim)
TANDEM_OUT(min, (const Tensor& self), self)
TANDEM_OUT(min, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(minimum, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(mul, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(mul, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(multiply, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(pow, (const Tensor& self, const Tensor& exponent), self, exponent)
TANDEM_OUT(pow, (const Scalar& self, const Tensor& exponent), self, exponent)
TANDEM_OUT(pow, (const Tensor& self, const Scalar& exponent), self, exponent)
TANDEM_OUT(remainder, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(remainder, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(remainder, (const Scalar& self, const Tensor& other), self, other)
TANDEM_OUT(rsub, (const Tensor& self, const Tensor& other, const Scalar& alpha = 1), self, other, alpha)
TANDEM_OUT(rsub, (const Tensor& self, const Scalar& other, const Scalar& alpha = 1), self, other, alpha)
TANDEM_OUT(sub, (const Tensor& self, const Tensor& other, const Scalar& alpha = 1), self, other, alpha)
TANDEM_OUT(sub, (const Tensor& self, const Scalar& other, const Scalar& alpha = 1), self, other, alpha)
TANDEM_OUT(subtract, (const Tensor& self, const Tensor& other, const Scalar& alpha = 1), self, other, alpha)
TANDEM_OUT(true_divide, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(xlogy, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(xlogy, (const Scalar& self, const Tensor& other), self, other)
TANDEM_OUT(xlogy, (const Tensor& self, const Scalar& other), self, other)
TANDEM_OUT(angle, (const Tensor& self), self)
TANDEM_OUT(complex, (const Tensor& real, const Tensor& imag), real, imag)
TANDEM_OUT(polar, (const Tensor& abs, const Tensor& angle), abs, angle)
TANDEM_OUT(conj_physical, (const Tensor& self), self)
TANDEM_OUT2(frexp, mantissa, exponent, (const Tensor& self), self)
TANDEM_OUT(gcd, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(lcm, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(ldexp, (const Tensor& self, const Tensor& other), self, other)
TANDEM_OUT(nextafter, (const Tensor& self, const Tensor& other), self, other)

}  // namespace tandem
