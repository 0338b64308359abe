// clamp: limits values to two bounds. Gradient: g where self is strictly between them, else 0. With tensor bounds,
// g goes to the tensor that provides the result; where self equals a bound, each gets half.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/bounds.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/unary_op.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem {
namespace {
using namespace autograd;

// For two tensor bounds. Where they cross, the upper one applies. Where both equal self, self gets all of g.
struct ClampTensorsBackward final : Node {
  const char* label() const override { return "ClampBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = self.unpack(*this), low = min.unpack(*this), high = max.unpack(*this);
    const Tensor above = x > high, below = x < low, wide = low < high;
    const Tensor at_low = logical_and(x == low, wide), at_high = logical_and(x == high, wide);
    const Tensor half = g[0] * 0.5;
    if (needs(0)) out[0] = where(logical_or(above, below), 0, where(logical_or(at_low, at_high), half, g[0]));
    if (needs(1)) out[1] = where(at_low, half, where(logical_and(below, low <= high), g[0], 0));
    if (needs(2)) out[2] = where(at_high, half, where(logical_or(above, low > high), g[0], 0));
  }
  TANDEM_SAVED(self, min, max);
};

ScalarType clamp_type(const Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max) {
  ScalarType type = self.dtype();
  if (min) type = promote_types(type, result_type(self, *min));
  if (max) type = promote_types(type, result_type(self, *max));
  return type;
}

}  // namespace

Parameters autograd::bounds(const char* operation, const optional<Scalar>& min, const optional<Scalar>& max,
                            ScalarType type) {
  check(min.has_value() || max.has_value(), operation, ": at least one of min and max must be given");
  Parameters p;
  dispatch(toOpMathType(type), NumericTypes{}, operation, [&]<class T>(Type<T>) {
    using Limits = std::numeric_limits<T>;
    p[0] = min ? *min : Limits::has_infinity ? Scalar(-Limits::infinity()) : Scalar(Limits::lowest());
    p[1] = max ? *max : Limits::has_infinity ? Scalar(Limits::infinity()) : Scalar(Limits::max());
    if constexpr (std::is_integral_v<T>) {  // bounds outside the type have no effect, but must leave a value
      const auto lowest = static_cast<int64_t>(Limits::lowest()), largest = static_cast<int64_t>(Limits::max());
      check(p[0].toLong() <= largest && p[1].toLong() >= lowest, operation, ": bounds ", p[0], " and ", p[1],
            " leave no value of ", type);
      p[0] = std::max(p[0].toLong(), lowest);
      p[1] = std::min(p[1].toLong(), largest);
    }
  });
  return p;
}

Tensor clamp(const Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max) {
  const ScalarType type = clamp_type(self, min, max);
  return unary<ops::Clamp>(as_type(self, type), bounds("clamp", min, max, type));
}
Tensor clamp_min(const Tensor& self, const Scalar& min) { return clamp(self, optional<Scalar>(min)); }
Tensor clamp_max(const Tensor& self, const Scalar& max) { return clamp(self, nullopt, optional<Scalar>(max)); }

Tensor clamp(const Tensor& self, const Tensor& min, const Tensor& max) {
  check(min.defined() || max.defined(), "clamp: at least one of min and max must be given");
  if (!max.defined()) return maximum(self, min);
  if (!min.defined()) return minimum(self, max);
  const ScalarType type = result_type(TensorList{self, min, max});
  Tensor out = binary_raw<ops::Minimum>(binary_raw<ops::Maximum>(self, min, type), max, type);
  if (auto* node = record<ClampTensorsBackward>(out, self, min, max)) {
    node->self.save(self);
    node->min.save(min);
    node->max.save(max);
  }
  return out;
}

Tensor Tensor::clamp(const optional<Scalar>& min, const optional<Scalar>& max) const {
  return tandem::clamp(*this, min, max);
}
Tensor Tensor::clamp_min(const Scalar& min) const { return tandem::clamp_min(*this, min); }
Tensor Tensor::clamp_max(const Scalar& max) const { return tandem::clamp_max(*this, max); }
Tensor& Tensor::clamp_(const optional<Scalar>& min, const optional<Scalar>& max) const {
  check_result_fits("clamp_", *this, clamp_type(*this, min, max));
  return unary_<ops::Clamp>(*this, bounds("clamp_", min, max, dtype()));
}
Tensor& Tensor::clamp_min_(const Scalar& min) const { return clamp_(optional<Scalar>(min)); }
Tensor& Tensor::clamp_max_(const Scalar& max) const { return clamp_(nullopt, optional<Scalar>(max)); }

Tensor clamp_min(const Tensor& self, const Tensor& min) { return maximum(self, min); }
Tensor clamp_max(const Tensor& self, const Tensor& max) { return minimum(self, max); }
Tensor Tensor::clamp_min(const Tensor& min) const { return maximum(min); }
Tensor Tensor::clamp_max(const Tensor& max) const { return minimum(max); }
TANDEM_MEMBERS_OF(clamp, (const Tensor& min, const Tensor& max), (min, max), min, max)
Tensor& Tensor::clamp_min_(const Tensor& min) const { return clamp_(min, {}); }
Tensor& Tensor::clamp_max_(const Tensor& max) const { return clamp_({}, max); }

}  // namespace tandem
