// Functions that write to a given tensor (out_write.h): functions of one tensor.
#pragma once
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

inline Tensor& abs_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("abs_out", out)(tandem::abs(self));
}
inline Tensor& absolute_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("absolute_out", out)(tandem::absolute(self));
}
inline Tensor& acos_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("acos_out", out)(tandem::acos(self));
}
inline Tensor& acosh_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("acosh_out", out)(tandem::acosh(self));
}
inline Tensor& asin_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("asin_out", out)(tandem::asin(self));
}
inline Tensor& asinh_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("asinh_out", out)(tandem::asinh(self));
}
inline Tensor& atan_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("atan_out", out)(tandem::atan(self));
}
inline Tensor& atanh_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("atanh_out", out)(tandem::atanh(self));
}
inline Tensor& bitwise_not_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("bitwise_not_out", out)(tandem::bitwise_not(self));
}
inline Tensor& ceil_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("ceil_out", out)(tandem::ceil(self));
}
inline Tensor& clamp_out(Tensor& out, const Tensor& self, const optional<Scalar>& min,
                         const optional<Scalar>& max = nullopt) {
  return autograd::write_out("clamp_out", out)(tandem::clamp(self, min, max));
}
inline Tensor& clamp_out(Tensor& out, const Tensor& self, const Tensor& min = {}, const Tensor& max = {}) {
  return autograd::write_out("clamp_out", out)(tandem::clamp(self, min, max));
}
inline Tensor& clamp_max_out(Tensor& out, const Tensor& self, const Scalar& max) {
  return autograd::write_out("clamp_max_out", out)(tandem::clamp_max(self, max));
}
inline Tensor& clamp_max_out(Tensor& out, const Tensor& self, const Tensor& max) {
  return autograd::write_out("clamp_max_out", out)(tandem::clamp_max(self, max));
}
inline Tensor& clamp_min_out(Tensor& out, const Tensor& self, const Scalar& min) {
  return autograd::write_out("clamp_min_out", out)(tandem::clamp_min(self, min));
}
inline Tensor& clamp_min_out(Tensor& out, const Tensor& self, const Tensor& min) {
  return autograd::write_out("clamp_min_out", out)(tandem::clamp_min(self, min));
}
inline Tensor& cos_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("cos_out", out)(tandem::cos(self));
}
inline Tensor& cosh_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("cosh_out", out)(tandem::cosh(self));
}
inline Tensor& deg2rad_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("deg2rad_out", out)(tandem::deg2rad(self));
}
inline Tensor& erf_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("erf_out", out)(tandem::erf(self));
}
inline Tensor& erfc_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("erfc_out", out)(tandem::erfc(self));
}
inline Tensor& exp_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("exp_out", out)(tandem::exp(self));
}
inline Tensor& exp2_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("exp2_out", out)(tandem::exp2(self));
}
inline Tensor& expm1_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("expm1_out", out)(tandem::expm1(self));
}
inline Tensor& floor_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("floor_out", out)(tandem::floor(self));
}
inline Tensor& frac_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("frac_out", out)(tandem::frac(self));
}
inline Tensor& isinf_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("isinf_out", out)(tandem::isinf(self));
}
inline Tensor& isnan_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("isnan_out", out)(tandem::isnan(self));
}
inline Tensor& isneginf_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("isneginf_out", out)(tandem::isneginf(self));
}
inline Tensor& isposinf_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("isposinf_out", out)(tandem::isposinf(self));
}
inline Tensor& log_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("log_out", out)(tandem::log(self));
}
inline Tensor& log10_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("log10_out", out)(tandem::log10(self));
}
inline Tensor& log1p_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("log1p_out", out)(tandem::log1p(self));
}
inline Tensor& log2_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("log2_out", out)(tandem::log2(self));
}
inline Tensor& logical_not_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("logical_not_out", out)(tandem::logical_not(self));
}
inline Tensor& logit_out(Tensor& out, const Tensor& self, optional<double> eps = nullopt) {
  return autograd::write_out("logit_out", out)(tandem::logit(self, eps));
}
inline Tensor& nan_to_num_out(Tensor& out, const Tensor& self, optional<double> nan = nullopt,
                              optional<double> posinf = nullopt, optional<double> neginf = nullopt) {
  return autograd::write_out("nan_to_num_out", out)(tandem::nan_to_num(self, nan, posinf, neginf));
}
inline Tensor& neg_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("neg_out", out)(tandem::neg(self));
}
inline Tensor& negative_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("negative_out", out)(tandem::negative(self));
}
inline Tensor& rad2deg_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("rad2deg_out", out)(tandem::rad2deg(self));
}
inline Tensor& reciprocal_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("reciprocal_out", out)(tandem::reciprocal(self));
}
inline Tensor& relu_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("relu_out", out)(tandem::relu(self));
}
inline Tensor& round_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("round_out", out)(tandem::round(self));
}
inline Tensor& round_out(Tensor& out, const Tensor& self, int64_t decimals) {
  return autograd::write_out("round_out", out)(tandem::round(self, decimals));
}
inline Tensor& rsqrt_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("rsqrt_out", out)(tandem::rsqrt(self));
}
inline Tensor& sigmoid_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("sigmoid_out", out)(tandem::sigmoid(self));
}
inline Tensor& sign_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("sign_out", out)(tandem::sign(self));
}
inline Tensor& signbit_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("signbit_out", out)(tandem::signbit(self));
}
inline Tensor& sin_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("sin_out", out)(tandem::sin(self));
}
inline Tensor& sinc_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("sinc_out", out)(tandem::sinc(self));
}
inline Tensor& sinh_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("sinh_out", out)(tandem::sinh(self));
}
inline Tensor& sqrt_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("sqrt_out", out)(tandem::sqrt(self));
}
inline Tensor& square_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("square_out", out)(tandem::square(self));
}
inline Tensor& tan_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("tan_out", out)(tandem::tan(self));
}
inline Tensor& tanh_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("tanh_out", out)(tandem::tanh(self));
}
inline Tensor& trunc_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("trunc_out", out)(tandem::trunc(self));
}

}  // namespace tandem
