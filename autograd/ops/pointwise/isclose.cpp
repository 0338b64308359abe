// Classification of values (isnan, …), closeness, and nan_to_num.
#include <limits>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/comparison.h"
#include "tandem/core/memory_format.h"

namespace tandem {
namespace {
using namespace autograd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A comparison with infinity; `integers` is the result for dtypes without infinities.
template <class Op>
Tensor against_infinity(const Tensor& x, bool integers) {
  Tensor out = empty_elementwise(x, kBool);
  if (x.is_floating_point())
    backend(x).comparison.value.get<Op>()(out, x, Scalar(kInfinity));
  else
    fill_raw(out, integers);
  return out;
}

bool all_true(const Tensor& t) { return t.sum().item<int64_t>() == t.numel(); }

}  // namespace

Tensor isnan(const Tensor& self) { return self != self; }
Tensor isinf(const Tensor& self) {
  if (self.is_complex()) return isinf(view_as_real(self.detach())).any(-1);
  return against_infinity<ops::AbsEq>(self, false);
}
Tensor isfinite(const Tensor& self) {
  if (self.is_complex()) return isfinite(view_as_real(self.detach())).all(-1);
  return against_infinity<ops::AbsLt>(self, true);
}
Tensor Tensor::isnan() const { return tandem::isnan(*this); }
Tensor Tensor::isinf() const { return tandem::isinf(*this); }
Tensor Tensor::isfinite() const { return tandem::isfinite(*this); }

Tensor nan_to_num(const Tensor& self, optional<double> nan, optional<double> posinf, optional<double> neginf) {
  if (self.is_complex())
    return on_parts(self, [&](const Tensor& parts) { return nan_to_num(parts, nan, posinf, neginf); });
  if (!self.is_floating_point()) return self.clone();
  const ScalarType type = self.dtype();
  const double largest = type == kHalf       ? 65504
                         : type == kBFloat16 ? 0x1.fep127
                         : type == kFloat    ? std::numeric_limits<float>::max()
                                             : std::numeric_limits<double>::max();
  const Tensor a = where(isnan(self), nan.value_or(0), self);
  const Tensor b = where(a == kInfinity, posinf.value_or(largest), a);
  return where(b == -kInfinity, neginf.value_or(-largest), b);
}
TANDEM_MEMBERS(nan_to_num, (optional<double> nan, optional<double> posinf, optional<double> neginf),
               (nan, posinf, neginf))

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  check(self.dtype() == other.dtype(), "isclose: dtypes differ\n  self  ", self, "\n  other ", other);
  check(rtol >= 0 && atol >= 0, "isclose: rtol ", rtol, " and atol ", atol, " must not be negative");
  NoGradGuard no_grad;
  Tensor close = self == other;
  if (equal_nan) close = logical_or(close, logical_and(isnan(self), isnan(other)));
  if (rtol == 0 && atol == 0) return close;
  const Tensor a = as_float(self), b = as_float(other);
  const Tensor distance = abs(a - b);
  return logical_or(close, logical_and(isfinite(distance), distance <= abs(b * rtol) + atol));
}
bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return all_true(isclose(self, other, rtol, atol, equal_nan));
}
bool equal(const Tensor& self, const Tensor& other) {
  check_same_device("equal", self, other);
  return self.sizes() == other.sizes() && all_true(self == other);
}
Tensor Tensor::isclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  return tandem::isclose(*this, other, rtol, atol, equal_nan);
}
bool Tensor::allclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  return tandem::allclose(*this, other, rtol, atol, equal_nan);
}
bool Tensor::equal(const Tensor& other) const { return tandem::equal(*this, other); }

}  // namespace tandem
