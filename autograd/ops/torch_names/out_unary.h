// Functions that write to a given tensor (out_write.h): functions of one tensor.
#pragma once
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

TANDEM_OUT(abs, (const Tensor& self), self)
TANDEM_OUT(absolute, (const Tensor& self), self)
TANDEM_OUT(acos, (const Tensor& self), self)
TANDEM_OUT(acosh, (const Tensor& self), self)
TANDEM_OUT(asin, (const Tensor& self), self)
TANDEM_OUT(asinh, (const Tensor& self), self)
TANDEM_OUT(atan, (const Tensor& self), self)
TANDEM_OUT(atanh, (const Tensor& self), self)
TANDEM_OUT(bitwise_not, (const Tensor& self), self)
TANDEM_OUT(ceil, (const Tensor& self), self)
TANDEM_OUT(clamp, (const Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt), self, min,
           max)
TANDEM_OUT(clamp, (const Tensor& self, const Tensor& min = {}, const Tensor& max = {}), self, min, max)
TANDEM_OUT(clamp_max, (const Tensor& self, const Scalar& max), self, max)
TANDEM_OUT(clamp_max, (const Tensor& self, const Tensor& max), self, max)
TANDEM_OUT(clamp_min, (const Tensor& self, const Scalar& min), self, min)
TANDEM_OUT(clamp_min, (const Tensor& self, const Tensor& min), self, min)
TANDEM_OUT(cos, (const Tensor& self), self)
TANDEM_OUT(cosh, (const Tensor& self), self)
TANDEM_OUT(deg2rad, (const Tensor& self), self)
TANDEM_OUT(erf, (const Tensor& self), self)
TANDEM_OUT(erfc, (const Tensor& self), self)
TANDEM_OUT(exp, (const Tensor& self), self)
TANDEM_OUT(exp2, (const Tensor& self), self)
TANDEM_OUT(expm1, (const Tensor& self), self)
TANDEM_OUT(floor, (const Tensor& self), self)
TANDEM_OUT(frac, (const Tensor& self), self)
TANDEM_OUT(isinf, (const Tensor& self), self)
TANDEM_OUT(isnan, (const Tensor& self), self)
TANDEM_OUT(isneginf, (const Tensor& self), self)
TANDEM_OUT(isposinf, (const Tensor& self), self)
TANDEM_OUT(log, (const Tensor& self), self)
TANDEM_OUT(log10, (const Tensor& self), self)
TANDEM_OUT(log1p, (const Tensor& self), self)
TANDEM_OUT(log2, (const Tensor& self), self)
TANDEM_OUT(logical_not, (const Tensor& self), self)
TANDEM_OUT(logit, (const Tensor& self, optional<double> eps = nullopt), self, eps)
TANDEM_OUT(nan_to_num,
           (const Tensor& self, optional<double> nan = nullopt, optional<double> posinf = nullopt,
            optional<double> neginf = nullopt),
           self, nan, posinf, neginf)
TANDEM_OUT(neg, (const Tensor& self), self)
TANDEM_OUT(negative, (const Tensor& self), self)
TANDEM_OUT(rad2deg, (const Tensor& self), self)
TANDEM_OUT(reciprocal, (const Tensor& self), self)
TANDEM_OUT(relu, (const Tensor& self), self)
TANDEM_OUT(round, (const Tensor& self), self)
TANDEM_OUT(round, (const Tensor& self, int64_t decimals), self, decimals)
TANDEM_OUT(rsqrt, (const Tensor& self), self)
TANDEM_OUT(sigmoid, (const Tensor& self), self)
TANDEM_OUT(sign, (const Tensor& self), self)
TANDEM_OUT(signbit, (const Tensor& self), self)
TANDEM_OUT(sin, (const Tensor& self), self)
TANDEM_OUT(sinc, (const Tensor& self), self)
TANDEM_OUT(sinh, (const Tensor& self), self)
TANDEM_OUT(sqrt, (const Tensor& self), self)
TANDEM_OUT(square, (const Tensor& self), self)
TANDEM_OUT(tan, (const Tensor& self), self)
TANDEM_OUT(tanh, (const Tensor& self), self)
TANDEM_OUT(trunc, (const Tensor& self), self)

}  // namespace tandem
