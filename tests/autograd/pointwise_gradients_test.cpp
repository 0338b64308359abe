// Elementwise operations in every mode of the harness: non-contiguous inputs, threads, first and second
// derivatives against finite differences; and the fused gradients against the differentiable ones.
#include <cmath>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/activation.h"
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/where.h"
#include "values.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

using Function = Tensor (*)(const Tensor&);

struct UnaryCase {
  const char* name;
  Function function;
  double low = -2, high = 2;
  bool kinks = false;  // values must stay away from 0
};

const UnaryCase kUnary[] = {
    {"neg", neg},
    {"abs", abs, -2, 2, true},
    {"square", square},
    {"relu", relu, -2, 2, true},
    {"sign", sign, -2, 2, true},
    {"floor", floor, 0.1, 0.9},
    {"ceil", ceil, 0.1, 0.9},
    {"round", round, 0.6, 1.4},
    {"trunc", trunc, 0.1, 0.9},
    {"frac", frac, 0.1, 0.9},
    {"exp", exp},
    {"exp2", exp2},
    {"expm1", expm1},
    {"log", log, 0.2, 3},
    {"log2", log2, 0.2, 3},
    {"log10", log10, 0.2, 3},
    {"log1p", log1p, -0.7, 3},
    {"erf", erf},
    {"erfc", erfc},
    {"sqrt", sqrt, 0.2, 3},
    {"rsqrt", rsqrt, 0.4, 3},
    {"reciprocal", reciprocal, 0.4, 3},
    {"sigmoid", sigmoid},
    {"sin", sin},
    {"cos", cos},
    {"tan", tan, -1, 1},
    {"asin", asin, -0.8, 0.8},
    {"acos", acos, -0.8, 0.8},
    {"atan", atan},
    {"sinh", sinh},
    {"cosh", cosh},
    {"tanh", tanh},
    {"asinh", asinh},
    {"acosh", acosh, 1.3, 4},
    {"atanh", atanh, -0.8, 0.8},
    {"nn.functional.logsigmoid", log_sigmoid},
    {"nn.functional.silu", silu},
    {"nn.functional.mish", mish},
    {"nn.functional.gelu", [](const Tensor& x) { return gelu(x); }},
    {"nn.functional.softsign", softsign, -2, 2, true},
    {"nn.functional.hardsigmoid", hardsigmoid},
    {"nn.functional.hardswish", hardswish},
    {"nn.functional.softplus", [](const Tensor& x) { return softplus(x); }},
    {"nn.functional.elu", [](const Tensor& x) { return elu(x); }, -2, 2, true},
    {"nn.functional.selu", selu, -2, 2, true},
    {"nn.functional.celu", [](const Tensor& x) { return celu(x); }, -2, 2, true},
    {"nn.functional.leaky_relu", [](const Tensor& x) { return leaky_relu(x); }, -2, 2, true},
    {"nn.functional.relu6", relu6, -2, 2, true},
};

// Table rows with parameters.
const UnaryCase kWithParameters[] = {
    {"nn.functional.gelu(x0, approximate='tanh')", [](const Tensor& x) { return gelu(x, "tanh"); }},
    {"nn.functional.softplus(x0, 2, 1.5)", [](const Tensor& x) { return softplus(x, 2, 1.5); }},
    {"nn.functional.elu(x0, 1.5)", [](const Tensor& x) { return elu(x, 1.5); }, -2, 2, true},
    {"nn.functional.celu(x0, 0.7)", [](const Tensor& x) { return celu(x, 0.7); }, -2, 2, true},
    {"nn.functional.leaky_relu(x0, 0.2)", [](const Tensor& x) { return leaky_relu(x, 0.2); }, -2, 2, true},
    {"nn.functional.hardtanh(x0, -0.55, 0.65)", [](const Tensor& x) { return hardtanh(x, -0.55, 0.65); }, -2,
     2, true},
    {"nn.functional.threshold(x0, 0.05, 9)", [](const Tensor& x) { return threshold(x, 0.05, 9); }, -2, 2,
     true},
    {"clamp(x0, -0.55, 0.65)", [](const Tensor& x) { return clamp(x, Scalar(-0.55), Scalar(0.65)); }, -2, 2,
     true},
    {"clamp(x0, min=0.05)", [](const Tensor& x) { return clamp_min(x, 0.05); }, -2, 2, true},
    {"clamp(x0, max=0.05)", [](const Tensor& x) { return clamp_max(x, 0.05); }, -2, 2, true},
    {"nan_to_num(x0)", [](const Tensor& x) { return nan_to_num(x); }},
    {"pow(x0, 3)", [](const Tensor& x) { return pow(x, 3); }},
    {"pow(x0, 2)", [](const Tensor& x) { return pow(x, 2); }},
    {"pow(x0, 0)", [](const Tensor& x) { return pow(x, 0); }},
    {"pow(x0, 0.5)", [](const Tensor& x) { return pow(x, 0.5); }, 0.2, 3},
    {"pow(x0, -1.5)", [](const Tensor& x) { return pow(x, -1.5); }, 0.4, 3},
    {"pow(2.5, x0)", [](const Tensor& x) { return pow(2.5, x); }},
    {"rsub(x0, 3)", [](const Tensor& x) { return 3 - x; }},
    {"sub(x0, 3)", [](const Tensor& x) { return x - 3; }},
    {"div(x0, 3)", [](const Tensor& x) { return x / 3; }},
    {"true_divide(3, x0)", [](const Tensor& x) { return 3 / x; }, 0.4, 3},
    {"fmod(x0, 0.7)", [](const Tensor& x) { return fmod(x, 0.7); }, 0.8, 1.3},
    {"remainder(x0, -0.7)", [](const Tensor& x) { return remainder(x, -0.7); }, 0.8, 1.3},
    {"where(x0 > 0, x0, 5.)", [](const Tensor& x) { return where(x > 0, x, 5.0); }, -2, 2, true},
    {"where(x0 > 0, 5., x0)", [](const Tensor& x) { return where(x > 0, 5.0, x); }, -2, 2, true},
    {"masked_fill(x0, x0 > 0, 7)", [](const Tensor& x) { return masked_fill(x, x > 0, 7); }, -2, 2, true},
};

std::vector<std::vector<InputSpec>> shapes(double low, double high, bool kinks) {
  std::vector<std::vector<InputSpec>> cases;
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{3, 5}, {}, {0, 2}})
    cases.push_back({kinks ? distinct(sizes) : real(sizes, low, high)});
  return cases;
}

OpTest describe(const UnaryCase& c, bool whole_expression) {
  return {.name = c.name,
          .torch = std::string("torch.") + c.name + (whole_expression ? "" : "(x0)"),
          .fn = [f = c.function](const Tensors& x) { return Tensors{f(x[0])}; },
          .cases = shapes(c.low, c.high, c.kinks)};
}

OpTest two(const char* torch, Tensor (*f)(const Tensor&, const Tensor&), double low = -2, double high = 2) {
  return {.name = torch,
          .torch = torch,
          .fn = [f](const Tensors& x) { return Tensors{f(x[0], x[1])}; },
          .cases = {{real({2, 3}, low, high), real({2, 3}, low + 0.05, high)},
                    {real({2, 1}, low, high), real({3}, low, high)},
                    {real({}, low, high), real({4}, low, high)},
                    {real({0, 3}, low, high), real({3}, low, high)}}};
}
OpTest three(const char* torch, Tensor (*f)(const Tensor&, const Tensor&, const Tensor&), double low = -2,
             double high = 2) {
  return {.name = torch,
          .torch = torch,
          .fn = [f](const Tensors& x) { return Tensors{f(x[0], x[1], x[2])}; },
          .cases = {{real({2, 3}), real({2, 3}), real({2, 3}, low, high)},
                    {real({3}), real({2, 1}), real({}, low, high)},
                    {real({0, 3}), real({3}), real({1}, low, high)}}};
}

}  // namespace

TEST_CASE("functions of one argument") {
  for (const UnaryCase& c : kUnary) run_all({describe(c, false)});
}
TEST_CASE("functions of one argument with parameters") {
  for (const UnaryCase& c : kWithParameters) run_all({describe(c, true)});
}

TEST_CASE("functions of two arguments") {
  run_all({
      two("x0 + x1", [](const Tensor& a, const Tensor& b) { return a + b; }),
      two("torch.add(x0, x1, alpha=0.5)", [](const Tensor& a, const Tensor& b) { return add(a, b, 0.5); }),
      two("x0 - x1", [](const Tensor& a, const Tensor& b) { return a - b; }),
      two("torch.sub(x0, x1, alpha=0.5)", [](const Tensor& a, const Tensor& b) { return sub(a, b, 0.5); }),
      two("torch.rsub(x0, x1, alpha=0.5)", [](const Tensor& a, const Tensor& b) { return rsub(a, b, 0.5); }),
      two("x0 * x1", [](const Tensor& a, const Tensor& b) { return a * b; }),
      two(
          "x0 / x1", [](const Tensor& a, const Tensor& b) { return a / b; }, 0.4, 3),
      two(
          "torch.pow(x0, x1)", [](const Tensor& a, const Tensor& b) { return pow(a, b); }, 0.4, 3),
      two("torch.atan2(x0, x1)", atan2, 0.4, 3),
      two("torch.hypot(x0, x1)", hypot, 0.4, 3),
      two("torch.where(x0 > x1, x0, x1)",
          [](const Tensor& a, const Tensor& b) { return where(a > b, a, b); }),
      two("torch.lerp(x0, x1, 0.3)", [](const Tensor& a, const Tensor& b) { return lerp(a, b, 0.3); }),
      two("torch.maximum(x0, x1)", maximum),
      two("torch.minimum(x0, x1)", minimum),
  });
  // Quotients that stay within one rounding step.
  OpTest fmod_test = two("torch.fmod(x0, x1)", [](const Tensor& a, const Tensor& b) { return fmod(a, b); });
  fmod_test.cases = {{real({2, 3}, 2.2, 2.8), real({2, 3}, 0.95, 1.05)}};
  OpTest remainder_test =
      two("torch.remainder(x0, x1)", [](const Tensor& a, const Tensor& b) { return remainder(a, b); });
  remainder_test.cases = {{real({2, 3}, -2.8, -2.2), real({2, 3}, 0.95, 1.05)}};
  OpTest floored = two("torch.div(x0, x1, rounding_mode='floor')",
                       [](const Tensor& a, const Tensor& b) { return div(a, b, "floor"); });
  floored.cases = remainder_test.cases;
  OpTest truncated = two("torch.div(x0, x1, rounding_mode='trunc')",
                         [](const Tensor& a, const Tensor& b) { return div(a, b, "trunc"); });
  truncated.cases = remainder_test.cases;
  run_all({fmod_test, remainder_test, floored, truncated});
}

TEST_CASE("functions of three arguments") {
  run_all({
      three("torch.addcmul(x0, x1, x2, value=0.7)",
            [](const Tensor& a, const Tensor& b, const Tensor& c) { return addcmul(a, b, c, 0.7); }),
      three(
          "torch.addcdiv(x0, x1, x2, value=0.7)",
          [](const Tensor& a, const Tensor& b, const Tensor& c) { return addcdiv(a, b, c, 0.7); }, 0.4, 3),
      three(
          "torch.lerp(x0, x1, x2)",
          [](const Tensor& a, const Tensor& b, const Tensor& c) { return lerp(a, b, c); }, 0.1, 0.4),
      three("torch.clamp(x0, x1, x2)",
            [](const Tensor& a, const Tensor& b, const Tensor& c) { return clamp(a, b, c); }),
  });
}

TEST_CASE("fused gradients equal the differentiable ones") {
  const auto compare = [](const UnaryCase& c) {
    CAPTURE(c.name);
    Tensor x = make_inputs(describe(c, true), 0, kDouble)[0].detach();
    Tensor wide = c.low == -2 ? x * 4 : x;
    wide.requires_grad_();
    const Tensor y = c.function(wide), g = sin(arange(y.numel(), kDouble)).view(y.sizes());
    const Tensor fused = autograd::grad({y}, {wide}, {g}, true)[0];
    const Tensor pieces = autograd::grad({y}, {wide}, {g}, true, /*create_graph=*/true)[0];
    std::string why;
    CHECK_MESSAGE(close(fused, pieces.detach(), 1e-13, &why), why);
  };
  for (const UnaryCase& c : kUnary) compare(c);
  for (const UnaryCase& c : kWithParameters) compare(c);
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

TEST_CASE("clamp between tensors shares its gradient where self is at a bound") {
  Tensor x = tensor({0., 1., 2., 1., 5.}).requires_grad_(),
         low = tensor({0., 0., 0., 1., 3.}).requires_grad_(),
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
    CHECK(show(autograd::grad({clamp(x, Scalar(-inf), Scalar(inf)).sum()}, {x}, {}, nullopt, graph)[0]) ==
          "[2] 1 1");
  }
}

TEST_CASE("activations check their parameters, in place too") {
  Tensor x = ones({2});
  CHECK_THROWS_WITH_AS(celu(x, 0), doctest::Contains("alpha must not be 0"), Error);
  CHECK_THROWS_WITH_AS(celu_(x, 0), doctest::Contains("alpha must not be 0"), Error);
  CHECK_THROWS_WITH_AS(hardtanh(x, 2, 1), doctest::Contains("min 2 is above max 1"), Error);
  CHECK_THROWS_WITH_AS(hardtanh_(x, 2, 1), doctest::Contains("min 2 is above max 1"), Error);
}
