// gcd, lcm, nextafter, frexp and ldexp.
#include "tandem/autograd/ops/pointwise/numbers.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_op.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem {
namespace {
using namespace autograd;

template <class Op>
Tensor of_integers(const char* operation, const Tensor& self, const Tensor& other) {
  const ScalarType type = result_type(self, other);
  check(is_integral(type, false), operation, ": expected integers\n  self  ", self, "\n  other ", other);
  return binary_raw<Op>(self, other, type);
}

// How a floating point type is stored: a sign, the biased exponent, and the fraction.
struct FloatBits {
  ScalarType type;
  int64_t fraction, mask, bias;  ///< number of bits, largest exponent, the exponent of 1/2
};
FloatBits bits_of(ScalarType type) {
  return type == kDouble ? FloatBits{kLong, 52, 0x7ff, 1022} : FloatBits{kInt, 23, 0xff, 126};
}

// 2^exponent for the exponents of normal numbers, by writing its bits.
Tensor power_of_two(const Tensor& exponent, ScalarType type) {
  const FloatBits stored_as = bits_of(type);
  return bitwise_left_shift(exponent.to(stored_as.type) + Scalar(stored_as.bias + 1), Scalar(stored_as.fraction))
      .view(type);
}

// self / 2^exponent in two steps, because 2^-exponent may be infinite.
Tensor scaled_down(const Tensor& self, const Tensor& exponent) {
  const Tensor half = bitwise_right_shift(exponent, Scalar(1));
  return self * power_of_two(-half, self.dtype()) * power_of_two(half - exponent, self.dtype());
}

}  // namespace

Tensor gcd(const Tensor& self, const Tensor& other) { return of_integers<ops::Gcd>("gcd", self, other); }
Tensor lcm(const Tensor& self, const Tensor& other) { return of_integers<ops::Lcm>("lcm", self, other); }

Tensor nextafter(const Tensor& self, const Tensor& other) {
  const ScalarType type = result_type(self, other);
  check(type == kFloat || type == kDouble, "nextafter: expected float32 or float64\n  self  ", self, "\n  other ",
        other);
  return binary_raw<ops::Nextafter>(self.detach(), other.detach(), type);
}

std::tuple<Tensor, Tensor> frexp(const Tensor& self) {
  check_floating_point("frexp", self);
  if (self.dtype() == kHalf || self.dtype() == kBFloat16) {
    const auto [mantissa, exponent] = frexp(self.to(kFloat));
    return {mantissa.to(self.dtype()), exponent};
  }
  const Tensor x = self.detach();
  const FloatBits stored_as = bits_of(x.dtype());
  const double smallest = x.dtype() == kDouble ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  // Subnormal numbers are scaled to normal ones.
  const int64_t shift = stored_as.fraction + 1;
  const Tensor small = x.abs() < smallest;
  const Tensor normal = where(small, x * std::ldexp(1.0, static_cast<int>(shift)), x).contiguous();
  const Tensor stored =
      bitwise_and(bitwise_right_shift(normal.view(stored_as.type), Scalar(stored_as.fraction)), Scalar(stored_as.mask));
  const Tensor special = logical_or(x == 0, stored == stored_as.mask);
  const Tensor exponent = where(special, Scalar(0), stored - stored_as.bias - shift * small.to(stored_as.type));
  const Tensor mantissa = where(special, self, scaled_down(self, exponent));
  return {mantissa, exponent.to(kInt)};
}

namespace {
// 2^other; for integers in the dtype of self.
Tensor power_for(const Tensor& self, const Tensor& other) {
  const bool whole = is_integral(other.dtype(), true);
  return pow(Scalar(2.0), whole ? other.to(as_float(self.detach()).dtype()) : other);
}
}  // namespace
Tensor ldexp(const Tensor& self, const Tensor& other) {
  if (const auto plain = autocast::unchanged_on_cuda(self)) return ldexp(self, other);
  return self * power_for(self, other);
}
Tensor& ldexp_(Tensor& self, const Tensor& other) { return self.mul_(power_for(self, other)); }

#define TANDEM_PAIR(f)                                                             \
  Tensor& f##_(Tensor& self, const Tensor& other) {                                \
    return inplace_of(self, #f "_", [&](const Tensor& x) { return f(x, other); }); \
  }                                                                                \
  Tensor Tensor::f(const Tensor& other) const { return tandem::f(*this, other); }  \
  Tensor& Tensor::f##_(const Tensor& other) const { return tandem::f##_(tandem::detail::mutable_handle(*this), other); }
TANDEM_PAIR(gcd)
TANDEM_PAIR(lcm)
TANDEM_PAIR(nextafter)
#undef TANDEM_PAIR
std::tuple<Tensor, Tensor> Tensor::frexp() const { return tandem::frexp(*this); }
Tensor Tensor::ldexp(const Tensor& other) const { return tandem::ldexp(*this, other); }
Tensor& Tensor::ldexp_(const Tensor& other) const {
  return tandem::ldexp_(tandem::detail::mutable_handle(*this), other);
}

}  // namespace tandem
