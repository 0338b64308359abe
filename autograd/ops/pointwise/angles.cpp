// Functions of angles: sin(x) / x, deg2rad and rad2deg.
#include <numbers>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/refuse_complex.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/special.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem {
using namespace autograd;

namespace {
// sin(a) / a. Near 0, uses the series 1 - a² / 3! + a⁴ / 5! - …, because the derivatives of the quotient cancel.
Tensor sine_ratio(const Tensor& angle) {
  const Tensor near = angle.detach().abs() < 0.5;
  const Tensor far = where(near, Scalar(1.0), angle), z = where(near, angle, Scalar(0.0)).square();
  Tensor series = ones_like(z);
  for (int k = 16; k > 0; k -= 2) series = 1 - z / static_cast<double>(k * (k + 1)) * series;
  return where(near, series, far.sin() / far);
}
}  // namespace

Tensor sinc(const Tensor& self) {
  if (const auto plain = autocast::unchanged_on_cuda(self)) return sinc(self);
  return sine_ratio(as_float(self) * std::numbers::pi);
}
Tensor special_spherical_bessel_j0(const Tensor& x) {
  if (const auto plain = autocast::unchanged_on_cuda(x)) return special_spherical_bessel_j0(x);
  const Tensor angle = as_float(x), infinite = angle.detach().isinf();
  return where(infinite, Scalar(0.0), sine_ratio(where(infinite, Scalar(1.0), angle)));
}
Tensor deg2rad(const Tensor& self) {
  refuse_complex("deg2rad", self);
  return as_float(self) * (std::numbers::pi / 180);
}
Tensor rad2deg(const Tensor& self) {
  refuse_complex("rad2deg", self);
  return as_float(self) * (180 / std::numbers::pi);
}

Tensor Tensor::sinc() const { return tandem::sinc(*this); }
Tensor& Tensor::sinc_() const { return inplace_of(*this, "sinc_", tandem::sinc); }
Tensor Tensor::deg2rad() const { return tandem::deg2rad(*this); }
Tensor& Tensor::deg2rad_() const { return inplace_of(*this, "deg2rad_", tandem::deg2rad); }
Tensor Tensor::rad2deg() const { return tandem::rad2deg(*this); }
Tensor& Tensor::rad2deg_() const { return inplace_of(*this, "rad2deg_", tandem::rad2deg); }

}  // namespace tandem
