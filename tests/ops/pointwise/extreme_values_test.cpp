// Values and gradients at the limits of floating point, where formulas overflow, cancel or divide by zero.
// The expected numbers are mathematically exact to 17 digits.
#include <cmath>
#include <limits>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/loss/loss.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

using Function = Tensor (*)(const Tensor&);

// `count` copies of one number with stride `step`: one element, a vector with a tail, every second element.
Tensor repeated(double value, ScalarType type, int64_t count, int64_t step) {
  return full({count * step}, value, TensorOptions(type)).as_strided({count}, {step}, 0).requires_grad_();
}

bool near(double own, double wanted, ScalarType type) {
  if (std::isnan(wanted)) return std::isnan(own);
  if (std::isinf(wanted) || wanted == 0) return own == wanted;
  return std::abs(own - wanted) <= (type == kDouble ? 2e-15 : 1e-6) * std::abs(wanted);
}

// Checks values, the gradient of the fused kernel and the gradient with create_graph.
void check_at(const char* name, Function f, ScalarType type, double x, double value, double slope) {
  INFO(name << " at " << x << (type == kDouble ? " in float64" : " in float32"));
  for (const auto& [count, step] : {std::pair<int64_t, int64_t>{1, 1}, {77, 1}, {77, 2}}) {
    const Tensor t = repeated(x, type, count, step), out = f(t);
    const Tensor fused = autograd::grad({out}, {t}, {ones_like(out)}, true)[0],
                 graph = autograd::grad({out}, {t}, {ones_like(out)}, nullopt, true)[0];
    for (double v : values(out)) CHECK(near(v, value, type));
    for (double v : values(fused)) CHECK(near(v, slope, type));
    for (double v : values(graph)) CHECK(near(v, slope, type));
  }
}

struct Point {
  double value, first, second;
};
// Checks f(a, b) and its gradients.
template <class F>
Point at(F f, double a, double b, ScalarType type = kDouble) {
  const Tensor x = full({}, a, TensorOptions(type).requires_grad(true)),
               y = full({}, b, TensorOptions(type).requires_grad(true)), out = f(x, y);
  const std::vector<Tensor> g = autograd::grad({out}, {x, y}, {ones_like(out)});
  return {values(out)[0], values(g[0])[0], values(g[1])[0]};
}

double second_derivative(Function f, double x) {
  const Tensor t = full({}, x, TensorOptions(kDouble).requires_grad(true)), out = f(t);
  const Tensor g = autograd::grad({out}, {t}, {ones_like(out)}, nullopt, true)[0];
  return values(autograd::grad({g}, {t}, {ones_like(g)})[0])[0];
}

}  // namespace

TEST_CASE("sin and cos of arguments of any magnitude, and their gradients") {
  check_at("sin", sin, kDouble, 1e25, -0.30525780013513027, 0.95226974931300893);
  check_at("cos", cos, kDouble, 1e25, 0.95226974931300893, 0.30525780013513027);
  check_at("sin", sin, kDouble, 1e300, -0.8178819121159086, -0.57538611195754905);
  check_at("cos", cos, kDouble, 0x1p51 + 0.5, 0.031905303671042436, -0.99949089620549249);
  check_at("sin", sin, kFloat, 1e25f, -0.40585857753063768, 0.91393589219638779);
  check_at("cos", cos, kFloat, 0x1p64, -0.99972151638858412, -0.023598509904439559);
  check_at("sin", sin, kDouble, 100000.5, -0.4477465716572126, -0.89416050436664478);
}

TEST_CASE("hyperbolic functions of subnormal and very large numbers") {
  check_at("sinh", sinh, kFloat, 0x1p-149, 0x1p-149, 1);
  check_at("sinh", sinh, kFloat, 0x1.8p-130, 0x1.8p-130, 1);
  check_at("sinh", sinh, kDouble, 0x1p-1074, 0x1p-1074, 1);
  check_at("sinh", sinh, kDouble, 0x1p-1030, 0x1p-1030, 1);
  check_at("cosh", cosh, kDouble, 0x1p-1030, 1, 0x1p-1030);
  check_at("expm1", expm1, kFloat, 0x1p-149, 0x1p-149, 1);
  check_at("asinh", asinh, kFloat, 1.7e38f, 88.722008951320665, 1 / 1.7e38);
  check_at("asinh", asinh, kFloat, std::numeric_limits<float>::max(), 89.415986232628298, 0x1p-128);
  check_at("asinh", asinh, kDouble, -std::numeric_limits<double>::max(), -710.47586007394394, 0x1p-1024);
  check_at("asinh", asinh, kDouble, 0x1p31, 22.18070977791825, 0x1p-31);
}

TEST_CASE("the tails of gelu with tanh, where 1 + tanh cancels") {
  const Function tanh_gelu = [](const Tensor& x) { return gelu(x, "tanh"); };
  const Point g = at([](const Tensor& x, const Tensor& y) { return gelu(x + y, "tanh"); }, -7, 0);
  CHECK(g.value == doctest::Approx(-2.315442262072549e-15).epsilon(1e-12));
  CHECK(g.first == doctest::Approx(-2.7651173507066019e-14).epsilon(1e-12));
  check_at("gelu tanh", tanh_gelu, kFloat, 1e30, 1e30f, 1);
  check_at("gelu tanh", tanh_gelu, kFloat, -1e30, 0, 0);
}

TEST_CASE("second derivatives where factors cancel") {
  CHECK(second_derivative(asin, 1e-20) == doctest::Approx(1e-20).epsilon(1e-12));
  CHECK(second_derivative(acos, -1e-20) == doctest::Approx(1e-20).epsilon(1e-12));
  CHECK(second_derivative(atanh, 1e-20) == doctest::Approx(2e-20).epsilon(1e-12));
  CHECK(second_derivative(sinc, 1e-10) == doctest::Approx(-3.2898681336964529));
  CHECK(second_derivative(sinc, 0.15) == doctest::Approx(-3.0735780971423004).epsilon(1e-12));
  CHECK(second_derivative(sinc, 0) == doctest::Approx(-3.2898681336964529));
}

TEST_CASE("sinc around 0, where the derivative of the quotient cancels") {
  check_at("sinc", sinc, kDouble, 1e-10, 1, -3.289868133696453e-10);
  check_at("sinc", sinc, kDouble, 0, 1, 0);
  check_at("sinc", sinc, kDouble, 1e-4, 0.99999998355065942, -0.00032898681012267561);
}

TEST_CASE("logaddexp of equal, infinite and distant numbers") {
  const auto e = [](const Tensor& x, const Tensor& y) { return logaddexp(x, y); };
  const auto two = [](const Tensor& x, const Tensor& y) { return logaddexp2(x, y); };
  for (ScalarType type : {kFloat, kDouble})
    for (double x : {1e7, -1e25, 0.0}) {
      CHECK(at(e, x, x, type).first == 0.5);
      CHECK(at(e, x, x, type).second == 0.5);
      CHECK(at(two, x, x, type).first == 0.5);
    }
  CHECK(at(e, kInf, 3).value == kInf);
  CHECK(at(e, kInf, 3).first == 1);
  CHECK(at(e, kInf, 3).second == 0);
  CHECK(at(e, -kInf, -kInf).value == -kInf);
  CHECK(near(at(e, -110, 0).value, 1.6889118802245323e-48, kDouble));
  CHECK(near(at(two, 0, -110, kFloat).value, 1.1114118319468089e-33, kFloat));
  CHECK(near(at(two, 0, -110, kFloat).second, 7.7037197775489434e-34, kFloat));
  const Function both = [](const Tensor& x) { return logaddexp(x, full_like(x.detach(), 1)); };
  CHECK(second_derivative(both, 1) == 0.25);
}

TEST_CASE("the gradient of logit: infinite at the ends of its domain, NaN or 0 outside") {
  const auto free = [](const Tensor& x) { return logit(x); };
  const auto bounded = [](const Tensor& x) { return logit(x, 0.1); };
  for (ScalarType type : {kFloat, kDouble}) {
    check_at("logit", free, type, 0, -kInf, kInf);
    check_at("logit", free, type, 1, kInf, kInf);
    check_at("logit", free, type, 2, kNaN, kNaN);
    check_at("logit", free, type, -0.5, kNaN, kNaN);
    check_at("logit", free, type, 0.5, 0, 4);
    check_at("logit", bounded, type, 2, 2.1972245773362196, 0);
    check_at("logit", bounded, type, 0.01, -2.1972245773362196, 0);
  }
}

TEST_CASE("atan2 where squares underflow and overflow") {
  const auto f = [](const Tensor& x, const Tensor& y) { return atan2(x, y); };
  CHECK(near(at(f, 0, 1e-30, kFloat).first, 1e30, kFloat));
  CHECK(near(at(f, 3e30, 4e30, kFloat).first, 4e30 / 25e60, kFloat));
  CHECK(near(at(f, 3e-200, 4e-200).second, -3e-200 / 25 * 1e200 * 1e200, kDouble));
  CHECK(at(f, 0, 0).first == 0);
  const auto slope = [](const Tensor& y) {
    const Tensor x = full({1}, 3.0, kDouble).requires_grad_();
    return autograd::grad({atan2(x, y)}, {x})[0].item<double>();
  };
  CHECK(slope(ones({1}, kBool)) == doctest::Approx(0.1));
  CHECK(slope(full({1}, -128, kChar)) == doctest::Approx(-128.0 / (9 + 128 * 128)));
}

TEST_CASE("hypot where squares underflow and overflow, and of infinities") {
  const auto f = [](double x, double y, ScalarType type = kDouble) {
    return hypot(full({1}, x, TensorOptions(type)), full({1}, y, TensorOptions(type))).item<double>();
  };
  for (const double scale : {1e-310, 1e-200, 1e-120, 1.0, 1e120, 1e154, 1e200, 1e307})
    for (const double sign : {1.0, -1.0}) {
      CHECK(f(3 * scale, sign * 4 * scale) == doctest::Approx(5 * scale).epsilon(1e-15));
      CHECK(f(-4 * scale, sign * 3 * scale) == doctest::Approx(5 * scale).epsilon(1e-15));
      CHECK(f(scale, 0) == scale);
    }
  CHECK(f(3e30, 4e30, kFloat) == doctest::Approx(5e30).epsilon(1e-7));
  CHECK(f(0, 0) == 0);
  for (const double other : {0.0, 1.0, kInf, -kInf, kNaN}) {
    CHECK(f(kInf, other) == kInf);
    CHECK(f(other, -kInf) == kInf);
  }
  CHECK(std::isnan(f(kNaN, 1)));
}

TEST_CASE("fmod, pow and hardswish: infinite factors have no effect") {
  const auto second = [](auto f, double a, double b) {
    const Tensor x = full({}, a, TensorOptions(kDouble).requires_grad(true)),
                 y = full({}, b, TensorOptions(kDouble).requires_grad(true)), out = f(x, y);
    const std::vector<Tensor> g = autograd::grad({out}, {x, y}, {ones_like(out)}, nullopt, true);
    return values(autograd::grad({g[0] + g[1]}, {x}, {ones_like(out)})[0])[0];
  };
  CHECK(second([](const Tensor& x, const Tensor& y) { return fmod(x, y); }, 1, 0) == 0);
  CHECK(second([](const Tensor& x, const Tensor& y) { return pow(x, y); }, -20, 0) == doctest::Approx(-0.05));
  const Tensor x = full({}, kInf, TensorOptions(kDouble).requires_grad(true)), g = ones_like(x).requires_grad_();
  const Tensor slope = autograd::grad({hardswish(x)}, {x}, {g}, nullopt, true)[0];
  CHECK(values(autograd::grad({slope}, {g}, {ones_like(slope)})[0])[0] == 1);
}

TEST_CASE("losses with infinite differences and probabilities of zero or out of range") {
  const auto smooth = [](const Tensor& x, const Tensor& y) { return smooth_l1_loss(x, y, kNone, 0.5); };
  const auto huber = [](const Tensor& x, const Tensor& y) { return huber_loss(x, y, kNone, 0.5); };
  for (ScalarType type : {kFloat, kDouble}) {
    CHECK(at(smooth, kInf, 3, type).first == 1);
    CHECK(at(smooth, 3, kInf, type).second == 1);
    CHECK(at(huber, -kInf, 3, type).first == -0.5);
    CHECK(at(huber, 3, -kInf, type).second == -0.5);
    CHECK(std::isnan(at(huber, kNaN, 3, type).first));
    CHECK(at(smooth, 1e30, 0, type).first == 1);
  }
  const auto logits = [](const Tensor& x, const Tensor& y) {
    return binary_cross_entropy_with_logits(x, y, {}, {}, kNone);
  };
  CHECK(near(at(logits, -20, 0, kFloat).first, 2.0611536181902036e-9, kFloat));
  CHECK(near(at(logits, -110, 0).first, 1.6889118802245323e-48, kDouble));
  const auto entropy = [](const Tensor& x, const Tensor& y) { return binary_cross_entropy(x, y, {}, kNone); };
  CHECK(at(entropy, 1e-30, 0).value == 1e-30);
  const auto divergence = [](const Tensor& x, const Tensor& y) { return kl_div(x, y, kNone); };
  CHECK(std::isnan(at(divergence, 1, -0.5).value));
  CHECK(at(divergence, 1, 0).value == 0);
}
