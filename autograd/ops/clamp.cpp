// clamp: values between two bounds. Gradient: g where self is within them (the bounds included), else 0, or g
// for the bound that holds where bounds are tensors.
#include <limits>

#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/ternary_op.h"
#include "tandem/autograd/ops/unary.h"
#include "tandem/autograd/ops/unary_op.h"
#include "tandem/autograd/ops/where.h"

namespace tandem {
namespace {
using namespace autograd;

struct ClampRule {
  using Op = ops::Clamp;
  static constexpr const char *name = "clamp_", *backward_name = "ClampBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x, const Parameters& p) {
    return where(logical_and(x >= p[0], x <= p[1]), g, 0);
  }
};

struct ClampTensorsBackward final : Node {
  const char* name() const override { return "ClampBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = self.unpack(*this), low = min.unpack(*this), high = max.unpack(*this);
    const Tensor above = high.defined() ? x > high : Tensor(), below = low.defined() ? x < low : Tensor();
    Tensor held = above.defined() ? above : below;
    if (above.defined() && below.defined()) held = logical_or(above, below);
    if (needs(0)) out[0] = where(held, 0, g[0]);
    // Where the bounds cross, the upper one holds.
    const Tensor crossed = above.defined() && below.defined() ? high < low : Tensor();
    if (needs(1))
      out[1] = where(crossed.defined() ? logical_and(below, logical_not(crossed)) : below, g[0], 0);
    if (needs(2)) out[2] = where(crossed.defined() ? logical_or(above, crossed) : above, g[0], 0);
  }
  void release() override {
    self.release();
    min.release();
    max.release();
  }
  SavedTensor self, min, max;
};

// Both bounds as numbers of `type`: an absent one does not bound.
Parameters bounds(const optional<Scalar>& min, const optional<Scalar>& max, ScalarType type) {
  check(min.has_value() || max.has_value(), "clamp: at least one of min and max must be given");
  Parameters p;
  dispatch(type, NumericTypes{}, "clamp", [&]<class T>(Type<T>) {
    using Limits = std::numeric_limits<T>;
    p[0] = min ? *min : Limits::has_infinity ? Scalar(-Limits::infinity()) : Scalar(Limits::lowest());
    p[1] = max ? *max : Limits::has_infinity ? Scalar(Limits::infinity()) : Scalar(Limits::max());
  });
  return p;
}

ScalarType clamp_type(const Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max) {
  ScalarType type = self.dtype();
  if (min) type = promote_types(type, result_type(self, *min));
  if (max) type = promote_types(type, result_type(self, *max));
  return type;
}

}  // namespace

Tensor clamp(const Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max) {
  const ScalarType type = clamp_type(self, min, max);
  return unary<ClampRule>(as_type(self, type), bounds(min, max, type));
}
Tensor clamp_min(const Tensor& self, const Scalar& min) { return clamp(self, optional<Scalar>(min)); }
Tensor clamp_max(const Tensor& self, const Scalar& max) {
  return clamp(self, nullopt, optional<Scalar>(max));
}

Tensor clamp(const Tensor& self, const Tensor& min, const Tensor& max) {
  check(min.defined() || max.defined(), "clamp: at least one of min and max must be given");
  Tensor out = self.detach();
  if (min.defined()) out = binary_raw<ops::Maximum>(out, min, result_type(out, min));
  if (max.defined()) out = binary_raw<ops::Minimum>(out, max, result_type(out, max));
  if (auto* node = record<ClampTensorsBackward>(out, self, min, max)) {
    node->self.save(self);
    if (min.defined()) node->min.save(min);
    if (max.defined()) node->max.save(max);
  }
  return out;
}

Tensor Tensor::clamp(const optional<Scalar>& min, const optional<Scalar>& max) const {
  return tandem::clamp(*this, min, max);
}
Tensor Tensor::clamp(const Tensor& min, const Tensor& max) const { return tandem::clamp(*this, min, max); }
Tensor Tensor::clamp_min(const Scalar& min) const { return tandem::clamp_min(*this, min); }
Tensor Tensor::clamp_max(const Scalar& max) const { return tandem::clamp_max(*this, max); }
Tensor& Tensor::clamp_(const optional<Scalar>& min, const optional<Scalar>& max) {
  check_result_fits("clamp_", *this, clamp_type(*this, min, max));
  return unary_<ClampRule>(*this, bounds(min, max, dtype()));
}
Tensor& Tensor::clamp_min_(const Scalar& min) { return clamp_(optional<Scalar>(min)); }
Tensor& Tensor::clamp_max_(const Scalar& max) { return clamp_(nullopt, optional<Scalar>(max)); }

}  // namespace tandem
