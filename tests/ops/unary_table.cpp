// Describes the elementwise functions of one tensor.
#include <cmath>

#include "tandem/tests/ops/pointwise_table.h"

#define ONE(f) .name = #f, .function = [](const Tensor& x, const Parameters&) { return f(x); }
// With the in-place member, or the in-place function.
#define BOTH(f) ONE(f), .in_place = [](Tensor x, const Parameters&) { return x.f##_(); }
#define BOTH_FREE(f) ONE(f), .in_place = [](Tensor x, const Parameters&) { return f##_(x); }
// With parameters p.
#define CALL(f, ...) .name = #f, .function = [](const Tensor& x, const Parameters& p) -> Tensor { return __VA_ARGS__; }
#define WRITE(...) .in_place = [](Tensor x, const Parameters& p) -> Tensor { return __VA_ARGS__; }
#define STD(f) .exact = [](double x) -> double { return std::f(x); }

namespace tandem::testing {
namespace {

using enum Integers;

std::vector<UnaryFunction> algebraic() {
  return {
      {BOTH(neg), .integers = kStay},
      {BOTH(abs), .domain = kKinks, .integers = kStay},
      {BOTH(sign), .domain = kKinks, .integers = kStay},
      {BOTH(square), .integers = kStay},
      {BOTH(relu), .domain = kKinks, .integers = kStay},
      {BOTH(floor), .domain = kSteps, .integers = kStay, STD(floor), .intervals = {{-9, 9}}},
      {BOTH(ceil), .domain = kSteps, .integers = kStay, STD(ceil), .intervals = {{-9, 9}}},
      {BOTH(round), .domain = kSteps, .integers = kStay, STD(nearbyint), .intervals = {{-9, 9}}},
      {BOTH(trunc), .domain = kSteps, .integers = kStay, STD(trunc), .intervals = {{-9, 9}}},
      {BOTH(frac), .domain = kSteps, .integers = kRejected},
      {BOTH(sqrt), .domain = kPositive, STD(sqrt), .intervals = {{0, 1e4}}},
      {BOTH(rsqrt), .domain = {0.3, 3, "positive"}},
      {BOTH(reciprocal), .domain = {0.3, 3, "nonzero"}},
      {BOTH(sinc), .domain = {0.2, 2, "nonzero"}},
      {BOTH(deg2rad)},
      {BOTH(rad2deg)},
      {BOTH(bitwise_not), .integers = kStay, .types = Drawn::kIntegers},
      {BOTH(logical_not), .integers = kBecomeBool},
      {ONE(isnan), .integers = kBecomeBool},
      {ONE(isinf), .integers = kBecomeBool},
      {ONE(isfinite), .integers = kBecomeBool},
      {ONE(signbit), .integers = kBecomeBool},
      {ONE(isposinf), .integers = kBecomeBool},
      {ONE(isneginf), .integers = kBecomeBool},
  };
}

std::vector<UnaryFunction> exponential() {
  return {
      {BOTH(exp), STD(exp), .intervals = {{-87, 88}, {-1, 1}}},
      {BOTH(exp2), STD(exp2), .intervals = {{-125, 127}}},
      {BOTH(expm1), STD(expm1), .intervals = {{-20, 80}, {-1e-3, 1e-3}}},
      {BOTH(log), .domain = kPositive, STD(log), .intervals = {{1e-30, 1e30}, {0.5, 2}}},
      {BOTH(log2), .domain = kPositive, STD(log2), .intervals = {{0.1, 1e6}}},
      {BOTH(log10), .domain = kPositive, STD(log10), .intervals = {{0.1, 1e6}}},
      {BOTH(log1p), .domain = {-0.7, 3, "positive"}, STD(log1p), .intervals = {{-0.99, 10}, {-1e-4, 1e-4}}},
      {BOTH(erf), STD(erf), .intervals = {{-4, 4}}},
      {BOTH(erfc), STD(erfc), .intervals = {{-4, 9}}},
      {BOTH(sigmoid)},
      {CALL(logit, p.empty() ? logit(x) : logit(x, p[0].real())), WRITE(x.logit_(p[0].real())),
       .domain = {0.1, 0.9, "unit"}, .types = Drawn::kFloats, .parameters = {"None, 0.1, 1e-6"},
       .extremes = {{nullopt}, {0.0}, {1e-6}, {0.1}}},
  };
}

std::vector<UnaryFunction> trigonometric() {
  return {
      {BOTH(sin), STD(sin), .intervals = {{-10, 10}, {-1e6, 1e6}}},
      {BOTH(cos), STD(cos), .intervals = {{-10, 10}, {-1e6, 1e6}}},
      {BOTH(tan), .domain = {-1.2, 1.2, "unit"}, STD(tan), .intervals = {{-10, 10}}},
      {BOTH(asin), .domain = kUnit, STD(asin), .intervals = {{-1, 1}}},
      {BOTH(acos), .domain = kUnit, STD(acos), .intervals = {{-1, 1}}},
      {BOTH(atan), STD(atan), .intervals = {{-20, 20}}},
      {BOTH(sinh), STD(sinh), .intervals = {{-20, 20}}},
      {BOTH(cosh), STD(cosh), .intervals = {{-20, 20}}},
      {BOTH(tanh), STD(tanh), .intervals = {{-10, 10}}},
      {BOTH(asinh), STD(asinh), .intervals = {{-1e4, 1e4}}},
      {BOTH(acosh), .domain = {1.2, 4, "positive"}, STD(acosh), .intervals = {{1, 1e4}}},
      {BOTH(atanh), .domain = kUnit, STD(atanh), .intervals = {{-1, 1}}},
  };
}

std::vector<UnaryFunction> activations() {
  return {
      {ONE(log_sigmoid), .integers = kRejected, .types = Drawn::kFloats, .torch = "F.logsigmoid"},
      {BOTH_FREE(silu), .integers = kRejected, .types = Drawn::kFloats, .torch = "F.silu"},
      {BOTH_FREE(mish), .integers = kRejected, .types = Drawn::kFloats, .torch = "F.mish"},
      {CALL(gelu, p.empty() ? gelu(x) : gelu(x, *p[0].text)), WRITE(p.empty() ? gelu_(x) : gelu_(x, *p[0].text)),
       .domain = {.drawn = "finite"}, .integers = kRejected, .types = Drawn::kFloats, .torch = "F.gelu",
       .variants = {{"gelu"}, {"gelu tanh", {"tanh"}}}, .parameters = {"'none', 'tanh'"},
       .extremes = {{"none"}, {"tanh"}}, .keyword = "approximate"},
      {ONE(softsign), .domain = {.drawn = "finite", .distinct = true}, .integers = kRejected, .types = Drawn::kFloats,
       .torch = "F.softsign"},
      // PyTorch's 1 / 6 is float32.
      {BOTH_FREE(hardsigmoid), .integers = kRejected, .types = Drawn::kFloats, .torch = "F.hardsigmoid",
       .tolerance64 = 1e-8},
      {BOTH_FREE(hardswish), .integers = kRejected, .types = Drawn::kFloats, .torch = "F.hardswish"},
      {CALL(softplus, p.empty() ? softplus(x) : softplus(x, p[0], p[1])), .integers = kRejected,
       .types = Drawn::kFloats, .torch = "F.softplus",
       .variants = {{"softplus"}, {"softplus beta", {2, 1}}, {"softplus beta 1.5", {2, 1.5}}},
       .parameters = {"1, 2, 0.5", "20, 1.4"}, .extremes = {{1, 20}, {2, 20}, {0.5, 1.5}}},
      {CALL(elu, p.empty() ? elu(x) : elu(x, p[0], p.size() > 1 ? Scalar(p[1]) : Scalar(1))),
       WRITE(elu_(x, p[0], p[1])), .domain = kKinks, .integers = kRejected, .types = Drawn::kFloats,
       .torch = "torch._C._nn.elu", .variants = {{"elu", {1.5}}, {"elu default"}, {"elu scale", {0.7, 1.3}}},
       .parameters = {"1, 0.7, 2", "1, 1.3"}, .extremes = {{1, 1}, {0.5, 2}}},
      {BOTH_FREE(selu), .domain = kKinks, .integers = kRejected, .types = Drawn::kFloats, .torch = "F.selu"},
      {CALL(celu, p.empty() ? celu(x) : celu(x, p[0])), WRITE(celu_(x, p[0])), .domain = kKinks, .integers = kRejected,
       .types = Drawn::kFloats, .variants = {{"celu"}, {"celu 0.75", {0.75}}},
       // PyTorch's gradient has alpha in float32, so alpha must be exact in float32.
       .parameters = {"1, 0.75, 2"}, .extremes = {{1}, {0.5}, {2}}},
      {CALL(leaky_relu, p.empty() ? leaky_relu(x) : leaky_relu(x, p[0])), WRITE(leaky_relu_(x, p[0])), .domain = kKinks,
       .integers = kRejected, .types = Drawn::kFloats, .torch = "F.leaky_relu",
       .variants = {{"leaky_relu", {0.1}}, {"leaky_relu default"}, {"leaky_relu 0.2", {0.2}}},
       .parameters = {"0.01, 0.3"}, .extremes = {{0.25}}},
      {BOTH_FREE(relu6), .domain = kKinks, .integers = kStay, .types = Drawn::kFloats, .torch = "F.relu6"},
      {CALL(hardtanh, p.empty() ? hardtanh(x) : hardtanh(x, p[0], p[1])), WRITE(hardtanh_(x, p[0], p[1])),
       .domain = kKinks, .integers = kStay, .types = Drawn::kFloats, .torch = "F.hardtanh",
       .variants = {{"hardtanh", {-0.5, 0.6}}, {"hardtanh 0.65", {-0.55, 0.65}}}, .parameters = {"-1, -0.5", "1, 0.25"},
       .extremes = {{-1, 1}}},
      {CALL(threshold, threshold(x, p[0], p[1])), WRITE(threshold_(x, p[0], p[1])), .domain = kKinks, .integers = kStay,
       .types = Drawn::kNumbers, .torch = "F.threshold",
       .variants = {{"threshold", {0.1, 20}}, {"threshold 9", {0.05, 9}}}, .parameters = {"0, 1", "-2, 3"},
       .extremes = {{1, -2}}},
      {CALL(hardshrink, hardshrink(x, p[0])), .domain = kKinks, .integers = kRejected, .types = Drawn::kFloats,
       .torch = "F.hardshrink", .variants = {{"hardshrink", {0.3}}}, .parameters = {"0.5, 0.0, 1.3"},
       .extremes = {{0.5}}},
      {CALL(softshrink, softshrink(x, p[0])), .domain = kKinks, .integers = kRejected, .types = Drawn::kFloats,
       .torch = "F.softshrink", .variants = {{"softshrink", {0.3}}}, .parameters = {"0.5, 0.0, 1.3"},
       .extremes = {{0.5}}},
      {ONE(tanhshrink), .integers = kRejected, .types = Drawn::kFloats, .torch = "F.tanhshrink"},
  };
}

std::vector<UnaryFunction> bounds() {
  return {
      {CALL(clamp, clamp(x, p[0].number, p[1].number)), WRITE(x.clamp_(p[0].number, p[1].number)), .domain = kKinks,
       .variants = {{"clamp", {-0.5, 0.9}}, {"clamp 0.65", {-0.55, 0.65}}},
       .parameters = {"number, number, None", "number, number, None"}, .extremes = {{-1, 2}}},
      {CALL(clamp_min, clamp_min(x, p[0])), WRITE(x.clamp_min_(p[0])), .domain = kKinks,
       .variants = {{"clamp_min", {0.1}}, {"clamp_min 0.05", {0.05}}}, .parameters = {"number"}, .extremes = {{0.5}}},
      {CALL(clamp_max, clamp_max(x, p[0])), WRITE(x.clamp_max_(p[0])), .domain = kKinks,
       .variants = {{"clamp_max", {0.1}}, {"clamp_max 0.05", {0.05}}}, .parameters = {"number"}, .extremes = {{0.5}}},
      {CALL(nan_to_num, p.empty() ? nan_to_num(x) : nan_to_num(x, p[0].real(), p[1].real(), p[2].real())),
       WRITE(x.nan_to_num_(p[0].real(), p[1].real(), p[2].real())), .integers = kStay,
       .parameters = {"None, 1.5, 7.0", "None, 1.5, 7.0", "None, 1.5, 7.0"}, .extremes = {{nullopt, nullopt, nullopt}}},
  };
}

}  // namespace

const std::vector<UnaryFunction>& unary_functions() {
  static const std::vector<UnaryFunction> all = [] {
    std::vector<UnaryFunction> list;
    for (const auto family : {algebraic, exponential, trigonometric, activations, bounds})
      for (UnaryFunction& f : family()) list.push_back(std::move(f));
    return list;
  }();
  return all;
}

}  // namespace tandem::testing
