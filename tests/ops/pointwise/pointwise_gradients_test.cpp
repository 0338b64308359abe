// Gradients of elementwise operations: the fused ones against the differentiable ones, and at points where PyTorch
// chooses one. tests/ops compares them with finite differences.
#include <cmath>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/tests/as_pytorch.h"
#include "tandem/tests/ops/pointwise_table.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("fused gradients equal the differentiable ones") {
  const auto compare = [](const OpTest& test) {
    if (!test.first_order) return;
    CAPTURE(test.name);
    const Tensor x = make_inputs(test, 0, kDouble)[0].detach();
    Tensor wide = test.cases[0][0].low == -2 ? x * 4 : x;
    wide.requires_grad_();
    const Tensor y = test.fn({wide})[0], g = sin(arange(y.numel(), kDouble)).view(y.sizes());
    const Tensor fused = autograd::grad({y}, {wide}, {g}, true)[0];
    const Tensor pieces = autograd::grad({y}, {wide}, {g}, true, /*create_graph=*/true)[0];
    std::string why;
    CHECK_MESSAGE(close(fused, pieces.detach(), 1e-13, &why), why);
  };
  for (const UnaryFunction& f : unary_functions())
    for (const OpTest& test : tests_of(f)) compare(test);
  for (const OpTest& test : tests_with_numbers()) compare(test);
}

TEST_CASE("gradients at ties and bounds are PyTorch's") {
  Tensor a = full({2}, 3.0, requires_grad()), b = full({2}, 3.0, requires_grad());
  maximum(a, b).sum().backward();
  CHECK(show(a.grad()) == "[2] 0.5 0.5");
  CHECK(show(b.grad()) == "[2] 0.5 0.5");
  Tensor x = arange(-1, 2, kFloat).requires_grad_();
  clamp(x, Scalar(-1), Scalar(1)).sum().backward();
  CHECK(show(x.grad()) == "[3] 0 1 0");
  Tensor y = arange(-1, 2, kFloat).requires_grad_();
  hardtanh(y).sum().backward();
  CHECK(show(y.grad()) == "[3] 0 1 0");
  Tensor hard = tensor({-3.0f, -2.0f, 2.0f, 3.0f}).requires_grad_();
  (hardsigmoid(hard) * 6).sum().backward();
  CHECK(show(hard.grad()) == "[4] 0 1 1 0");
  Tensor swish = tensor({-3.0f, 3.0f}).requires_grad_();
  hardswish(swish).sum().backward();
  CHECK(show(swish.grad()) == "[2] 0 1");
  Tensor missing = tensor({std::nanf("")}).requires_grad_();
  hardtanh(missing).sum().backward();
  CHECK(show(missing.grad()) == "[1] 1");
  const float inf = std::numeric_limits<float>::infinity();
  Tensor w = tensor({-inf, inf, std::nanf("")}).requires_grad_();
  (clamp_min(w, 0) + relu(w)).sum().backward();
  CHECK(show(w.grad()) == "[3] 0 2 1");
  Tensor origin = zeros({2}, requires_grad());
  atan2(origin[0], origin[1]).backward();
  CHECK(show(origin.grad()) == "[2] 0 0");
  Tensor z = zeros({1}, requires_grad());
  (sqrt(z) + pow(z, 0)).sum().backward();
  CHECK(z.grad().item<float>() == std::numeric_limits<float>::infinity());
  Tensor base = zeros({1}, requires_grad()), exponent = full({1}, 2.0, requires_grad());
  pow(base, exponent).sum().backward();
  CHECK(base.grad().item<float>() == 0);
  CHECK(exponent.grad().item<float>() == 0);
}

TEST_CASE("gradients at kinks are PyTorch's") {
  using Function = Tensor (*)(const Tensor&);
  struct Kink {
    const char* name;
    Function function;
    double x, gradient;
  };
  const Kink kinks[] = {
      {"abs", [](const Tensor& x) { return abs(x); }, 0, 0},
      {"relu", [](const Tensor& x) { return relu(x); }, 0, 0},
      {"relu6", [](const Tensor& x) { return relu6(x); }, 0, 0},
      {"relu6", [](const Tensor& x) { return relu6(x); }, 6, 0},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.25); }, 0, 0.25},
      {"prelu", [](const Tensor& x) { return prelu(x, full({1}, 0.25, kDouble)); }, 0, 0.25},
      {"elu", [](const Tensor& x) { return elu(x, 3); }, 0, 3},
      {"celu", [](const Tensor& x) { return celu(x, 3); }, 0, 1},
      {"threshold", [](const Tensor& x) { return threshold(x, 1, 5); }, 1, 0},
      {"hardshrink", [](const Tensor& x) { return hardshrink(x, 0.5); }, 0.5, 0},
      {"hardshrink", [](const Tensor& x) { return hardshrink(x, 0.5); }, -0.5, 0},
      {"softshrink", [](const Tensor& x) { return softshrink(x, 0.5); }, 0.5, 0},
      {"softshrink", [](const Tensor& x) { return softshrink(x, 0.5); }, -0.5, 0},
      {"xlogy", [](const Tensor& x) { return xlogy(x, Scalar(4)); }, 0, std::log(4.0)},
      {"xlogy at 0", [](const Tensor& x) { return xlogy(x, Scalar(0)); }, 0, 0},
  };
  for (const Kink& kink : kinks) {
    CAPTURE(kink.name);
    CAPTURE(kink.x);
    Tensor x = full({1}, kink.x, kDouble).requires_grad_();
    CHECK(autograd::grad({kink.function(x)}, {x})[0].item<double>() == kink.gradient);
  }
  const auto random_slope_at_zero = [] {
    Tensor zero = zeros({64}, requires_grad());
    rrelu(zero, 0.25, 0.5, /*training=*/true).sum().backward();
    return zero.grad().max().item<float>();
  };
  CHECK(random_slope_at_zero() < 0.5F);
  const test::AsPyTorch mode(1);
  CHECK(random_slope_at_zero() < 0.5F);
}

TEST_CASE("clamp between tensors shares its gradient where self is at a bound") {
  Tensor x = tensor({0., 1., 2., 1., 5.}).requires_grad_(), low = tensor({0., 0., 0., 1., 3.}).requires_grad_(),
         high = tensor({2., 2., 2., 1., 1.}).requires_grad_();
  clamp(x, low, high).sum().backward();
  CHECK(show(x.grad()) == "[5] 0.5 1 0.5 1 0");
  CHECK(show(low.grad()) == "[5] 0.5 0 0 0 0");
  CHECK(show(high.grad()) == "[5] 0 0 0.5 0 1");
  CHECK((clamp(ones({2}, kByte), zeros({}, kDouble), ones({2})).dtype() == kFloat));
}

TEST_CASE("elu's second gradient has no NaN for large values") {
  Tensor x = full({1}, 1000.0, TensorOptions(kDouble).requires_grad(true));
  Tensor g = autograd::grad({elu(x)}, {x}, {}, nullopt, true)[0];
  CHECK(autograd::grad({g * x}, {x})[0].item<double>() == 1);
}

TEST_CASE("the gradient of a remainder uses the matching quotient") {
  Tensor a = tensor({1.}), b = tensor({0.1}).requires_grad_();
  remainder(a, b).sum().backward();  // 0.1 is slightly more than a tenth, so it fits into 1 nine times
  CHECK(b.grad().item<double>() == -9);
}

TEST_CASE("a zero base has no NaN in the derivative of pow's gradient") {
  const TensorOptions leaf = TensorOptions(kDouble).requires_grad(true);
  Tensor base = zeros({1}, leaf), exponent = full({1}, 1.25, leaf), g = ones({1}, leaf);
  const auto slope = autograd::grad({pow(base, exponent)}, {base, exponent}, {g}, nullopt, true);
  CHECK(autograd::grad({slope[1]}, {g}, {ones({1}, kDouble)}, true)[0].item<double>() == 0);
  CHECK(autograd::grad({slope[0]}, {g}, {ones({1}, kDouble)})[0].item<double>() == 0);
  const Tensor of_number = autograd::grad({pow(Scalar(0), exponent)}, {exponent}, {g}, nullopt, true)[0];
  CHECK(autograd::grad({of_number}, {g}, {ones({1}, kDouble)})[0].item<double>() == 0);
}

TEST_CASE("clamping to an infinite bound has no gradient, with create_graph or without") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const bool graph : {false, true}) {
    const Tensor x = tensor({1., -2.}).requires_grad_();
    for (const Tensor& y : {clamp_min(x, inf), clamp_max(x, -inf)})
      CHECK(show(autograd::grad({y.sum()}, {x}, {}, nullopt, graph)[0]) == "[2] 0 0");
    CHECK(show(autograd::grad({clamp(x, Scalar(-inf), Scalar(inf)).sum()}, {x}, {}, nullopt, graph)[0]) == "[2] 1 1");
  }
}

TEST_CASE("activations check their parameters, in place too") {
  Tensor x = ones({2});
  CHECK_THROWS_WITH_AS(celu(x, 0), doctest::Contains("alpha must not be 0"), Error);
  CHECK_THROWS_WITH_AS(celu_(x, 0), doctest::Contains("alpha must not be 0"), Error);
  CHECK_THROWS_WITH_AS(hardtanh(x, 2, 1), doctest::Contains("min 2 is above max 1"), Error);
  CHECK_THROWS_WITH_AS(hardtanh_(x, 2, 1), doctest::Contains("min 2 is above max 1"), Error);
}
