// Activation functions. Gradients by hand below; the fused forms stand beside the functions themselves, in
// core/formulas.
#include "tandem/autograd/ops/unary.h"

#include "tandem/autograd/ops/activation.h"
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/unary_op.h"
#include "tandem/autograd/ops/where.h"

namespace tandem {
namespace {
using namespace autograd;

struct LogSigmoidRule {
  using Op = ops::LogSigmoid;
  static constexpr const char* backward_name = "LogSigmoidBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) { return g * sigmoid(-x); }
};

struct SiluRule {
  using Op = ops::Silu;
  static constexpr const char *name = "silu_", *backward_name = "SiluBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) {
    const Tensor s = sigmoid(x);
    return g * (s * (x * (1 - s) + 1));
  }
};

struct GeluRule {
  using Op = ops::Gelu;
  static constexpr const char* backward_name = "GeluBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) {
    const Tensor cdf = 0.5 * erfc(x * -0.70710678118654752);
    return g * (cdf + x * (0.3989422804014327 * exp(-0.5 * x * x)));
  }
};

struct GeluTanhRule {
  using Op = ops::GeluTanh;
  static constexpr const char* backward_name = "GeluTanhBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) {
    const Tensor y = x.clamp(Scalar(-30), Scalar(30));
    const Tensor s = sigmoid(1.5957691216057308 * (y + 0.044715 * y * y * y));
    const Tensor slope = 1.5957691216057308 * (0.134145 * y * y + 1);
    return g * (s + y * (s * (1 - s) * slope));
  }
};

struct MishRule {
  using Op = ops::Mish;
  static constexpr const char *name = "mish_", *backward_name = "MishBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) {
    const Tensor t = tanh(log1p(exp(x)));
    return g * (t + x * ((1 - t * t) * sigmoid(x)));
  }
};

struct SoftsignRule {
  using Op = ops::Softsign;
  static constexpr const char* backward_name = "SoftsignBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) {
    const Tensor d = abs(x) + 1;
    return g / (d * d);
  }
};

struct HardsigmoidRule {
  using Op = ops::Hardsigmoid;
  static constexpr const char *name = "hardsigmoid_", *backward_name = "HardsigmoidBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) {
    return where(logical_and(x > -3, x < 3), g / 6, 0);
  }
};

struct HardswishRule {
  using Op = ops::Hardswish;
  static constexpr const char *name = "hardswish_", *backward_name = "HardswishBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x) {
    return g * where(x <= -3, 0, where(x < 3, x / 3 + 0.5, 1));
  }
};

struct SoftplusRule {
  using Op = ops::Softplus;
  static constexpr const char* backward_name = "SoftplusBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x, const Parameters& p) {
    return where(x * p[0] > p[1], g, g * sigmoid(x * p[0]));
  }
};

struct EluRule {
  using Op = ops::Elu;
  static constexpr const char *name = "elu_", *backward_name = "EluBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x, const Parameters& p) {
    // exp of positive values could overflow into the second derivative.
    const Tensor low = exp(where(x > 0, 0, x));
    return where(x > 0, g * p[1], g * (low * (p[0].toDouble() * p[1].toDouble())));
  }
};

struct CeluRule {
  using Op = ops::Celu;
  static constexpr const char *name = "celu_", *backward_name = "CeluBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x, const Parameters& p) {
    return where(x > 0, g, g * exp(where(x > 0, 0, x / p[0])));
  }
};

struct LeakyReluRule {
  using Op = ops::LeakyRelu;
  static constexpr const char *name = "leaky_relu_", *backward_name = "LeakyReluBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x, const Parameters& p) {
    return where(x > 0, g, g * p[0]);
  }
};

struct HardtanhRule {
  using Op = ops::Hardtanh;
  static constexpr const char *name = "hardtanh_", *backward_name = "HardtanhBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x, const Parameters& p) {
    return where(logical_and(x > p[0], x < p[1]), g, 0);
  }
};

struct ThresholdRule {
  using Op = ops::Threshold;
  static constexpr const char *name = "threshold_", *backward_name = "ThresholdBackward";
  static constexpr Saves saves = Saves::kInput;
  static Tensor gradient(const Tensor& g, const Tensor& x, const Parameters& p) {
    return where(x <= p[0], 0, g);
  }
};

}  // namespace

Tensor log_sigmoid(const Tensor& self) { return unary<LogSigmoidRule>(self); }
Tensor silu(const Tensor& self) { return unary<SiluRule>(self); }
Tensor mish(const Tensor& self) { return unary<MishRule>(self); }
Tensor softsign(const Tensor& self) { return unary<SoftsignRule>(self); }
Tensor hardsigmoid(const Tensor& self) { return unary<HardsigmoidRule>(self); }
Tensor hardswish(const Tensor& self) { return unary<HardswishRule>(self); }
Tensor gelu(const Tensor& self, std::string_view approximate) {
  check(approximate == "none" || approximate == "tanh",
        "gelu: approximate must be \"none\" or \"tanh\", got \"", approximate, "\"");
  return approximate == "none" ? unary<GeluRule>(self) : unary<GeluTanhRule>(self);
}
Tensor softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  return unary<SoftplusRule>(self, {beta, threshold});
}
Tensor elu(const Tensor& self, const Scalar& alpha, const Scalar& scale) {
  return unary<EluRule>(self, {alpha, scale});
}
Tensor selu(const Tensor& self) { return elu(self, 1.6732632423543772, 1.0507009873554805); }
Tensor celu(const Tensor& self, const Scalar& alpha) {
  check(!alpha.equal(0), "celu: alpha must not be 0");
  return unary<CeluRule>(self, {alpha, 0});
}
Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope) {
  return unary<LeakyReluRule>(self, {negative_slope, 0});
}
Tensor hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  check(min_val.toDouble() <= max_val.toDouble(), "hardtanh: min ", min_val, " is above max ", max_val);
  return unary<HardtanhRule>(self, {min_val, max_val});
}
Tensor relu6(const Tensor& self) { return hardtanh(self, 0, 6); }
Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  return unary<ThresholdRule>(self, {threshold, value});
}

Tensor& silu_(Tensor& self) { return unary_<SiluRule>(self); }
Tensor& mish_(Tensor& self) { return unary_<MishRule>(self); }
Tensor& hardsigmoid_(Tensor& self) { return unary_<HardsigmoidRule>(self); }
Tensor& hardswish_(Tensor& self) { return unary_<HardswishRule>(self); }
Tensor& elu_(Tensor& self, const Scalar& alpha, const Scalar& scale) {
  return unary_<EluRule>(self, {alpha, scale});
}
Tensor& selu_(Tensor& self) { return elu_(self, 1.6732632423543772, 1.0507009873554805); }
Tensor& celu_(Tensor& self, const Scalar& alpha) { return unary_<CeluRule>(self, {alpha, 0}); }
Tensor& leaky_relu_(Tensor& self, const Scalar& negative_slope) {
  return unary_<LeakyReluRule>(self, {negative_slope, 0});
}
Tensor& hardtanh_(Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  return unary_<HardtanhRule>(self, {min_val, max_val});
}
Tensor& relu6_(Tensor& self) { return hardtanh_(self, 0, 6); }
Tensor& threshold_(Tensor& self, const Scalar& threshold, const Scalar& value) {
  return unary_<ThresholdRule>(self, {threshold, value});
}

}  // namespace tandem
