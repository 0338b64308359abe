// Functions that write to a given tensor (out_write.h): arithmetic.
#pragma once
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/numbers.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

inline Tensor& add_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha = 1) {
  return autograd::write_out("add_out", out)(tandem::add(self, other, alpha));
}
inline Tensor& add_out(Tensor& out, const Tensor& self, const Scalar& other, const Scalar& alpha = 1) {
  return autograd::write_out("add_out", out)(tandem::add(self, other, alpha));
}
inline Tensor& addcdiv_out(Tensor& out, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                           const Scalar& value = 1) {
  return autograd::write_out("addcdiv_out", out)(tandem::addcdiv(self, tensor1, tensor2, value));
}
inline Tensor& addcmul_out(Tensor& out, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                           const Scalar& value = 1) {
  return autograd::write_out("addcmul_out", out)(tandem::addcmul(self, tensor1, tensor2, value));
}
inline Tensor& atan2_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("atan2_out", out)(tandem::atan2(self, other));
}
inline Tensor& copysign_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("copysign_out", out)(tandem::copysign(self, other));
}
inline Tensor& copysign_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("copysign_out", out)(tandem::copysign(self, other));
}
inline Tensor& div_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("div_out", out)(tandem::div(self, other));
}
inline Tensor& div_out(Tensor& out, const Tensor& self, const Tensor& other, optional<std::string_view> rounding_mode) {
  return autograd::write_out("div_out", out)(tandem::div(self, other, rounding_mode));
}
inline Tensor& div_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("div_out", out)(tandem::div(self, other));
}
inline Tensor& div_out(Tensor& out, const Tensor& self, const Scalar& other, optional<std::string_view> rounding_mode) {
  return autograd::write_out("div_out", out)(tandem::div(self, other, rounding_mode));
}
inline Tensor& divide_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("divide_out", out)(tandem::divide(self, other));
}
inline Tensor& divide_out(Tensor& out, const Tensor& self, const Tensor& other,
                          optional<std::string_view> rounding_mode) {
  return autograd::write_out("divide_out", out)(tandem::div(self, other, rounding_mode));
}
inline Tensor& float_power_out(Tensor& out, const Tensor& self, const Tensor& exponent) {
  return autograd::write_out("float_power_out", out)(tandem::float_power(self, exponent));
}
inline Tensor& float_power_out(Tensor& out, const Scalar& self, const Tensor& exponent) {
  return autograd::write_out("float_power_out", out)(tandem::float_power(self, exponent));
}
inline Tensor& float_power_out(Tensor& out, const Tensor& self, const Scalar& exponent) {
  return autograd::write_out("float_power_out", out)(tandem::float_power(self, exponent));
}
inline Tensor& floor_divide_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("floor_divide_out", out)(tandem::floor_divide(self, other));
}
inline Tensor& floor_divide_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("floor_divide_out", out)(tandem::floor_divide(self, other));
}
inline Tensor& fmax_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("fmax_out", out)(tandem::fmax(self, other));
}
inline Tensor& fmin_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("fmin_out", out)(tandem::fmin(self, other));
}
inline Tensor& fmod_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("fmod_out", out)(tandem::fmod(self, other));
}
inline Tensor& fmod_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("fmod_out", out)(tandem::fmod(self, other));
}
inline Tensor& heaviside_out(Tensor& out, const Tensor& self, const Tensor& values) {
  return autograd::write_out("heaviside_out", out)(tandem::heaviside(self, values));
}
inline Tensor& hypot_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("hypot_out", out)(tandem::hypot(self, other));
}
inline Tensor& lerp_out(Tensor& out, const Tensor& self, const Tensor& end, const Scalar& weight) {
  return autograd::write_out("lerp_out", out)(tandem::lerp(self, end, weight));
}
inline Tensor& lerp_out(Tensor& out, const Tensor& self, const Tensor& end, const Tensor& weight) {
  return autograd::write_out("lerp_out", out)(tandem::lerp(self, end, weight));
}
inline Tensor& logaddexp_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("logaddexp_out", out)(tandem::logaddexp(self, other));
}
inline Tensor& logaddexp2_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("logaddexp2_out", out)(tandem::logaddexp2(self, other));
}
inline std::tuple<Tensor&, Tensor&> max_out(Tensor& max, Tensor& max_values, const Tensor& self, int64_t dim,
                                            bool keepdim = false) {
  return autograd::write_outs("max_out", max, max_values)(tandem::max(self, dim, keepdim));
}
inline Tensor& max_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("max_out", out)(tandem::max(self, other));
}
inline Tensor& max_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("max_out", out)(tandem::max(self));
}
inline Tensor& maximum_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("maximum_out", out)(tandem::maximum(self, other));
}
inline std::tuple<Tensor&, Tensor&> min_out(Tensor& min, Tensor& min_indices, const Tensor& self, int64_t dim,
                                            bool keepdim = false) {
  return autograd::write_outs("min_out", min, min_indices)(tandem::min(self, dim, keepdim));
}
inline Tensor& min_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("min_out", out)(tandem::min(self));
}
inline Tensor& min_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("min_out", out)(tandem::min(self, other));
}
inline Tensor& minimum_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("minimum_out", out)(tandem::minimum(self, other));
}
inline Tensor& mul_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("mul_out", out)(tandem::mul(self, other));
}
inline Tensor& mul_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("mul_out", out)(tandem::mul(self, other));
}
inline Tensor& multiply_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("multiply_out", out)(tandem::multiply(self, other));
}
inline Tensor& pow_out(Tensor& out, const Tensor& self, const Tensor& exponent) {
  return autograd::write_out("pow_out", out)(tandem::pow(self, exponent));
}
inline Tensor& pow_out(Tensor& out, const Scalar& self, const Tensor& exponent) {
  return autograd::write_out("pow_out", out)(tandem::pow(self, exponent));
}
inline Tensor& pow_out(Tensor& out, const Tensor& self, const Scalar& exponent) {
  return autograd::write_out("pow_out", out)(tandem::pow(self, exponent));
}
inline Tensor& remainder_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("remainder_out", out)(tandem::remainder(self, other));
}
inline Tensor& remainder_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("remainder_out", out)(tandem::remainder(self, other));
}
inline Tensor& remainder_out(Tensor& out, const Scalar& self, const Tensor& other) {
  return autograd::write_out("remainder_out", out)(tandem::remainder(self, other));
}
inline Tensor& rsub_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha = 1) {
  return autograd::write_out("rsub_out", out)(tandem::rsub(self, other, alpha));
}
inline Tensor& rsub_out(Tensor& out, const Tensor& self, const Scalar& other, const Scalar& alpha = 1) {
  return autograd::write_out("rsub_out", out)(tandem::rsub(self, other, alpha));
}
inline Tensor& sub_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha = 1) {
  return autograd::write_out("sub_out", out)(tandem::sub(self, other, alpha));
}
inline Tensor& sub_out(Tensor& out, const Tensor& self, const Scalar& other, const Scalar& alpha = 1) {
  return autograd::write_out("sub_out", out)(tandem::sub(self, other, alpha));
}
inline Tensor& subtract_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha = 1) {
  return autograd::write_out("subtract_out", out)(tandem::subtract(self, other, alpha));
}
inline Tensor& true_divide_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("true_divide_out", out)(tandem::true_divide(self, other));
}
inline Tensor& xlogy_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("xlogy_out", out)(tandem::xlogy(self, other));
}
inline Tensor& xlogy_out(Tensor& out, const Scalar& self, const Tensor& other) {
  return autograd::write_out("xlogy_out", out)(tandem::xlogy(self, other));
}
inline Tensor& xlogy_out(Tensor& out, const Tensor& self, const Scalar& other) {
  return autograd::write_out("xlogy_out", out)(tandem::xlogy(self, other));
}
inline Tensor& angle_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("angle_out", out)(tandem::angle(self));
}
inline Tensor& complex_out(Tensor& out, const Tensor& real, const Tensor& imag) {
  return autograd::write_out("complex_out", out)(tandem::complex(real, imag));
}
inline Tensor& polar_out(Tensor& out, const Tensor& abs, const Tensor& angle) {
  return autograd::write_out("polar_out", out)(tandem::polar(abs, angle));
}
inline Tensor& conj_physical_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("conj_physical_out", out)(tandem::conj_physical(self));
}
inline std::tuple<Tensor&, Tensor&> frexp_out(Tensor& mantissa, Tensor& exponent, const Tensor& self) {
  return autograd::write_outs("frexp_out", mantissa, exponent)(tandem::frexp(self));
}
inline Tensor& gcd_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("gcd_out", out)(tandem::gcd(self, other));
}
inline Tensor& lcm_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("lcm_out", out)(tandem::lcm(self, other));
}
inline Tensor& ldexp_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("ldexp_out", out)(tandem::ldexp(self, other));
}
inline Tensor& nextafter_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return autograd::write_out("nextafter_out", out)(tandem::nextafter(self, other));
}

}  // namespace tandem
