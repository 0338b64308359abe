// maximum, minimum, fmax and fmin; atan2 and hypot. Gradient of maximum (minimum): g for the larger (smaller)
// argument, half of g for each when they are equal.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_rule.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem {
namespace {
using namespace autograd;

// g where `loses` is false, half of it where a == b.
Tensor share(const Tensor& g, const Tensor& a, const Tensor& b, const Tensor& loses) {
  return where(loses, 0, where(a == b, g / 2, g));
}

struct MaximumRule {
  using Op = ops::Maximum;
  static constexpr const char* backward_name = "MaximumBackward";
  static constexpr Reads da_reads = kBoth, db_reads = kBoth;
  static ScalarType type(ScalarType promoted) { return promoted; }
  static Tensor da(const Tensor& g, const Tensor& a, const Tensor& b) { return share(g, a, b, a < b); }
  static Tensor db(const Tensor& g, const Tensor& a, const Tensor& b) { return share(g, a, b, b < a); }
};
struct MinimumRule {
  using Op = ops::Minimum;
  static constexpr const char* backward_name = "MinimumBackward";
  static constexpr Reads da_reads = kBoth, db_reads = kBoth;
  static ScalarType type(ScalarType promoted) { return promoted; }
  static Tensor da(const Tensor& g, const Tensor& a, const Tensor& b) { return share(g, a, b, a > b); }
  static Tensor db(const Tensor& g, const Tensor& a, const Tensor& b) { return share(g, a, b, b > a); }
};

// a / (a² + b²) and b / (a² + b²), up to sign. Both are divided by the larger one first, so the squares
// neither overflow nor underflow.
struct Atan2Rule {
  using Op = ops::Atan2;
  static constexpr const char *name = "atan2_", *backward_name = "Atan2Backward";
  static constexpr Reads da_reads = kBoth, db_reads = kBoth;
  static ScalarType type(ScalarType promoted) { return float_type(promoted); }
  // A constant; 1 where the squares are in range, and for 0 and infinity. The gradient at the origin is 0.
  static Tensor scale(const Tensor& a, const Tensor& b) {
    const ScalarType type = float_type(result_type(a, b));  // integers and bool lack some absolute values
    const Tensor larger = maximum(as_type(a.detach(), type).abs(), as_type(b.detach(), type).abs());
    const Tensor extreme = logical_or(larger<1e-12, larger> 1e12);
    return where(logical_and(extreme, logical_and(larger > 0, larger.isfinite())), larger, 1);
  }
  static Tensor square(const Tensor& a, const Tensor& b) {
    const Tensor sum = a * a + b * b;
    return where(sum == 0, 1, sum);
  }
  static Tensor da(const Tensor& g, const Tensor& a, const Tensor& b) {
    const Tensor s = scale(a, b), x = a / s, y = b / s;
    return g * (y / square(x, y) / s);
  }
  static Tensor db(const Tensor& g, const Tensor& a, const Tensor& b) {
    const Tensor s = scale(a, b), x = a / s, y = b / s;
    return g * (-x / square(x, y) / s);
  }
};
struct HypotRule {
  using Op = ops::Hypot;
  static constexpr const char *name = "hypot_", *backward_name = "HypotBackward";
  static constexpr Reads da_reads = kBoth, db_reads = kBoth;
  static ScalarType type(ScalarType promoted) { return float_type(promoted); }
  static Tensor da(const Tensor& g, const Tensor& a, const Tensor& b) { return g * (a / hypot(a, b)); }
  static Tensor db(const Tensor& g, const Tensor& a, const Tensor& b) { return g * (b / hypot(a, b)); }
};

}  // namespace

Tensor maximum(const Tensor& self, const Tensor& other) { return binary<MaximumRule>(self, other); }
Tensor minimum(const Tensor& self, const Tensor& other) { return binary<MinimumRule>(self, other); }
Tensor fmax(const Tensor& self, const Tensor& other) {
  return where(other.isnan(), self, where(self.isnan(), other, maximum(self, other)));
}
Tensor fmin(const Tensor& self, const Tensor& other) {
  return where(other.isnan(), self, where(self.isnan(), other, minimum(self, other)));
}
Tensor atan2(const Tensor& self, const Tensor& other) {
  if (const auto to = autocast::promoted_on_cuda(self, other)) return atan2(to(self), to(other));
  return binary<Atan2Rule>(self, other);
}
Tensor hypot(const Tensor& self, const Tensor& other) { return binary<HypotRule>(self, other); }
Tensor Tensor::maximum(const Tensor& other) const { return tandem::maximum(*this, other); }
Tensor Tensor::minimum(const Tensor& other) const { return tandem::minimum(*this, other); }
Tensor Tensor::fmax(const Tensor& other) const { return tandem::fmax(*this, other); }
Tensor Tensor::fmin(const Tensor& other) const { return tandem::fmin(*this, other); }
Tensor Tensor::atan2(const Tensor& other) const { return tandem::atan2(*this, other); }
Tensor& Tensor::atan2_(const Tensor& other) const { return binary_<Atan2Rule>(*this, other); }
Tensor Tensor::hypot(const Tensor& other) const { return tandem::hypot(*this, other); }
Tensor& Tensor::hypot_(const Tensor& other) const { return binary_<HypotRule>(*this, other); }

}  // namespace tandem
