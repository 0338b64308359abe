// Elementwise functions of one tensor.
#include "tandem/tests/ops/cases.h"

namespace tandem::testing {

std::vector<OpTest> unary_cases() {
  std::vector<OpTest> list;
  const auto give = [&](OpTest test) { list.push_back(std::move(test)); };
  give(op("neg", "torch.neg(x0)", [](const Tensors& x) { return neg(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("exp", "torch.exp(x0)", [](const Tensors& x) { return exp(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("exp2", "torch.exp2(x0)", [](const Tensors& x) { return exp2(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("expm1", "torch.expm1(x0)", [](const Tensors& x) { return expm1(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("square", "torch.square(x0)", [](const Tensors& x) { return square(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("sin", "torch.sin(x0)", [](const Tensors& x) { return sin(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("cos", "torch.cos(x0)", [](const Tensors& x) { return cos(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("atan", "torch.atan(x0)", [](const Tensors& x) { return atan(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("sinh", "torch.sinh(x0)", [](const Tensors& x) { return sinh(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("cosh", "torch.cosh(x0)", [](const Tensors& x) { return cosh(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("tanh", "torch.tanh(x0)", [](const Tensors& x) { return tanh(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("sigmoid", "torch.sigmoid(x0)", [](const Tensors& x) { return sigmoid(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("erf", "torch.erf(x0)", [](const Tensors& x) { return erf(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("erfc", "torch.erfc(x0)", [](const Tensors& x) { return erfc(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("asinh", "torch.asinh(x0)", [](const Tensors& x) { return asinh(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("abs", "torch.abs(x0)", [](const Tensors& x) { return abs(x[0]); },
          {{distinct({3, 4})}, {distinct({2, 1, 5})}, {distinct({0})}}));
  give(op("relu", "torch.relu(x0)", [](const Tensors& x) { return relu(x[0]); },
          {{distinct({3, 4})}, {distinct({2, 1, 5})}, {distinct({0})}}));
  give(op("log", "torch.log(x0)", [](const Tensors& x) { return log(x[0]); },
          {{real({3, 4}, 0.3, 3)}, {real({7}, 0.3, 3)}, {real({}, 0.3, 3)}, {real({0, 3}, 0.3, 3)}}));
  give(op("log2", "torch.log2(x0)", [](const Tensors& x) { return log2(x[0]); },
          {{real({3, 4}, 0.3, 3)}, {real({7}, 0.3, 3)}, {real({}, 0.3, 3)}, {real({0, 3}, 0.3, 3)}}));
  give(op("log10", "torch.log10(x0)", [](const Tensors& x) { return log10(x[0]); },
          {{real({3, 4}, 0.3, 3)}, {real({7}, 0.3, 3)}, {real({}, 0.3, 3)}, {real({0, 3}, 0.3, 3)}}));
  give(op("sqrt", "torch.sqrt(x0)", [](const Tensors& x) { return sqrt(x[0]); },
          {{real({3, 4}, 0.3, 3)}, {real({7}, 0.3, 3)}, {real({}, 0.3, 3)}, {real({0, 3}, 0.3, 3)}}));
  give(op("rsqrt", "torch.rsqrt(x0)", [](const Tensors& x) { return rsqrt(x[0]); },
          {{real({3, 4}, 0.3, 3)}, {real({7}, 0.3, 3)}, {real({}, 0.3, 3)}, {real({0, 3}, 0.3, 3)}}));
  give(op("reciprocal", "torch.reciprocal(x0)", [](const Tensors& x) { return reciprocal(x[0]); },
          {{real({3, 4}, 0.3, 3)}, {real({7}, 0.3, 3)}, {real({}, 0.3, 3)}, {real({0, 3}, 0.3, 3)}}));
  give(op("log1p", "torch.log1p(x0)", [](const Tensors& x) { return log1p(x[0]); },
          {{real({3, 4}, -0.6, 3)}, {real({7}, -0.6, 3)}, {real({}, -0.6, 3)}, {real({0, 3}, -0.6, 3)}}));
  give(op(
      "tan", "torch.tan(x0)", [](const Tensors& x) { return tan(x[0]); },
      {{real({3, 4}, -1.2, 1.2)}, {real({7}, -1.2, 1.2)}, {real({}, -1.2, 1.2)}, {real({0, 3}, -1.2, 1.2)}}));
  give(op(
      "asin", "torch.asin(x0)", [](const Tensors& x) { return asin(x[0]); },
      {{real({3, 4}, -0.8, 0.8)}, {real({7}, -0.8, 0.8)}, {real({}, -0.8, 0.8)}, {real({0, 3}, -0.8, 0.8)}}));
  give(op(
      "acos", "torch.acos(x0)", [](const Tensors& x) { return acos(x[0]); },
      {{real({3, 4}, -0.8, 0.8)}, {real({7}, -0.8, 0.8)}, {real({}, -0.8, 0.8)}, {real({0, 3}, -0.8, 0.8)}}));
  give(op(
      "atanh", "torch.atanh(x0)", [](const Tensors& x) { return atanh(x[0]); },
      {{real({3, 4}, -0.8, 0.8)}, {real({7}, -0.8, 0.8)}, {real({}, -0.8, 0.8)}, {real({0, 3}, -0.8, 0.8)}}));
  give(op("acosh", "torch.acosh(x0)", [](const Tensors& x) { return acosh(x[0]); },
          {{real({3, 4}, 1.2, 3)}, {real({7}, 1.2, 3)}, {real({}, 1.2, 3)}, {real({0, 3}, 1.2, 3)}}));
  give(op("sign", "torch.sign(x0)", [](const Tensors& x) { return sign(x[0]); },
          {{distinct({3, 4})}, {distinct({2, 1, 5})}, {distinct({0})}}));
  give(op(
      "floor", "torch.floor(x0)", [](const Tensors& x) { return floor(x[0]); },
      {{real({3, 4}, -2.9, 2.9)}, {real({7}, -2.9, 2.9)}, {real({}, -2.9, 2.9)}, {real({0, 3}, -2.9, 2.9)}}));
  give(op(
      "ceil", "torch.ceil(x0)", [](const Tensors& x) { return ceil(x[0]); },
      {{real({3, 4}, -2.9, 2.9)}, {real({7}, -2.9, 2.9)}, {real({}, -2.9, 2.9)}, {real({0, 3}, -2.9, 2.9)}}));
  give(op(
      "round", "torch.round(x0)", [](const Tensors& x) { return round(x[0]); },
      {{real({3, 4}, -2.9, 2.9)}, {real({7}, -2.9, 2.9)}, {real({}, -2.9, 2.9)}, {real({0, 3}, -2.9, 2.9)}}));
  give(op(
      "trunc", "torch.trunc(x0)", [](const Tensors& x) { return trunc(x[0]); },
      {{real({3, 4}, -2.9, 2.9)}, {real({7}, -2.9, 2.9)}, {real({}, -2.9, 2.9)}, {real({0, 3}, -2.9, 2.9)}}));
  give(op(
      "frac", "torch.frac(x0)", [](const Tensors& x) { return frac(x[0]); },
      {{real({3, 4}, -2.9, 2.9)}, {real({7}, -2.9, 2.9)}, {real({}, -2.9, 2.9)}, {real({0, 3}, -2.9, 2.9)}}));
  give(op("silu", "F.silu(x0)", [](const Tensors& x) { return silu(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("softplus", "F.softplus(x0)", [](const Tensors& x) { return softplus(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("softplus beta", "F.softplus(x0, 2, 1)", [](const Tensors& x) { return softplus(x[0], 2, 1); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("gelu", "F.gelu(x0)", [](const Tensors& x) { return gelu(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("gelu tanh", "F.gelu(x0, approximate='tanh')", [](const Tensors& x) { return gelu(x[0], "tanh"); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("log_sigmoid", "F.logsigmoid(x0)", [](const Tensors& x) { return log_sigmoid(x[0]); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("leaky_relu", "F.leaky_relu(x0, 0.1)", [](const Tensors& x) { return leaky_relu(x[0], 0.1); },
          {{distinct({3, 4})}, {distinct({2, 1, 5})}, {distinct({0})}}));
  give(op("elu", "F.elu(x0, 1.5)", [](const Tensors& x) { return elu(x[0], 1.5); },
          {{distinct({3, 4})}, {distinct({2, 1, 5})}, {distinct({0})}}));
  give(op("selu", "F.selu(x0)", [](const Tensors& x) { return selu(x[0]); },
          {{distinct({3, 4})}, {distinct({2, 1, 5})}, {distinct({0})}}));
  give(op("relu6", "F.relu6(x0)", [](const Tensors& x) { return relu6(x[0]); },
          {{distinct({3, 4})}, {distinct({2, 1, 5})}, {distinct({0})}}));
  give(op("hardtanh", "F.hardtanh(x0, -0.5, 0.6)", [](const Tensors& x) { return hardtanh(x[0], -0.5, 0.6); },
          {{distinct({3, 4})}, {distinct({2, 1, 5})}, {distinct({0})}}));
  give(op("threshold", "F.threshold(x0, 0.1, 20)", [](const Tensors& x) { return threshold(x[0], 0.1, 20); },
          {{distinct({3, 4})}, {distinct({2, 1, 5})}, {distinct({0})}}));
  give(op("clamp", "torch.clamp(x0, -0.5, 0.9)",
          [](const Tensors& x) { return clamp(x[0], Scalar(-0.5), Scalar(0.9)); },
          {{distinct({3, 4})}, {distinct({2, 1, 5})}, {distinct({0})}}));
  give(op("clamp_min", "torch.clamp(x0, min=0.1)", [](const Tensors& x) { return clamp_min(x[0], 0.1); },
          {{distinct({3, 4})}, {distinct({2, 1, 5})}, {distinct({0})}}));
  give(op("clamp_max", "torch.clamp(x0, max=0.1)", [](const Tensors& x) { return clamp_max(x[0], 0.1); },
          {{distinct({3, 4})}, {distinct({2, 1, 5})}, {distinct({0})}}));
  give(op("pow 2", "x0 ** 2", [](const Tensors& x) { return x[0].pow(2); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op("pow 3", "x0 ** 3", [](const Tensors& x) { return x[0].pow(3); },
          {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}}));
  give(op(
      "pow 0.5", "x0 ** 0.5", [](const Tensors& x) { return x[0].pow(0.5); },
      {{real({3, 4}, 0.75, 1.3)}, {real({7}, 0.75, 1.3)}, {real({}, 0.75, 1.3)}, {real({0, 3}, 0.75, 1.3)}}));
  give(op(
      "pow -1.5", "x0 ** -1.5", [](const Tensors& x) { return x[0].pow(-1.5); },
      {{real({3, 4}, 0.75, 1.3)}, {real({7}, 0.75, 1.3)}, {real({}, 0.75, 1.3)}, {real({0, 3}, 0.75, 1.3)}}));
  give(op(
      "scalar pow", "2.5 ** x0", [](const Tensors& x) { return pow(Scalar(2.5), x[0]); },
      {{real({3, 4}, 0.75, 1.3)}, {real({7}, 0.75, 1.3)}, {real({}, 0.75, 1.3)}, {real({0, 3}, 0.75, 1.3)}}));
  give(op(
      "add number", "x0 + 3", [](const Tensors& x) { return x[0] + 3; },
      {{real({3, 4}, 0.75, 1.3)}, {real({7}, 0.75, 1.3)}, {real({}, 0.75, 1.3)}, {real({0, 3}, 0.75, 1.3)}}));
  give(op(
      "rsub number", "2 - x0", [](const Tensors& x) { return 2 - x[0]; },
      {{real({3, 4}, 0.75, 1.3)}, {real({7}, 0.75, 1.3)}, {real({}, 0.75, 1.3)}, {real({0, 3}, 0.75, 1.3)}}));
  give(op(
      "mul number", "x0 * 2.5", [](const Tensors& x) { return x[0] * 2.5; },
      {{real({3, 4}, 0.75, 1.3)}, {real({7}, 0.75, 1.3)}, {real({}, 0.75, 1.3)}, {real({0, 3}, 0.75, 1.3)}}));
  give(op(
      "div number", "x0 / 3", [](const Tensors& x) { return x[0] / 3; },
      {{real({3, 4}, 0.75, 1.3)}, {real({7}, 0.75, 1.3)}, {real({}, 0.75, 1.3)}, {real({0, 3}, 0.75, 1.3)}}));
  give(op(
      "number div", "3 / x0", [](const Tensors& x) { return 3 / x[0]; },
      {{real({3, 4}, 0.75, 1.3)}, {real({7}, 0.75, 1.3)}, {real({}, 0.75, 1.3)}, {real({0, 3}, 0.75, 1.3)}}));
  give(op(
      "fmod number", "torch.fmod(x0, 0.7)", [](const Tensors& x) { return fmod(x[0], 0.7); },
      {{real({3, 4}, 0.75, 1.3)}, {real({7}, 0.75, 1.3)}, {real({}, 0.75, 1.3)}, {real({0, 3}, 0.75, 1.3)}}));
  give(op(
      "remainder number", "torch.remainder(x0, 0.7)", [](const Tensors& x) { return remainder(x[0], 0.7); },
      {{real({3, 4}, 0.75, 1.3)}, {real({7}, 0.75, 1.3)}, {real({}, 0.75, 1.3)}, {real({0, 3}, 0.75, 1.3)}}));
  give(without_gradient(op("isnan", "torch.isnan(x0)", [](const Tensors& x) { return isnan(x[0]); },
                           {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}})));
  give(without_gradient(op("isinf", "torch.isinf(x0)", [](const Tensors& x) { return isinf(x[0]); },
                           {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}})));
  give(without_gradient(op("isfinite", "torch.isfinite(x0)", [](const Tensors& x) { return isfinite(x[0]); },
                           {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}})));
  give(without_gradient(op("logical_not", "torch.logical_not(x0)",
                           [](const Tensors& x) { return logical_not(x[0]); },
                           {{real({3, 4})}, {real({2, 1, 5})}, {real({})}, {real({0, 3})}})));
  give(
      without_gradient(op("exp of int64", "torch.exp(x0 % 5)", [](const Tensors& x) { return exp(x[0] % 5); },
                          {{integers({3, 4}, 1, 50, kLong)}})));
  give(without_gradient(op("sum of int64", "x0.sum(0)", [](const Tensors& x) { return x[0].sum(0); },
                           {{integers({3, 4}, 1, 50, kLong)}})));
  give(without_gradient(
      op("neg of int64", "-x0", [](const Tensors& x) { return -x[0]; }, {{integers({3, 4}, 1, 50, kLong)}})));
  give(
      without_gradient(op("exp of uint8", "torch.exp(x0 % 5)", [](const Tensors& x) { return exp(x[0] % 5); },
                          {{integers({3, 4}, 1, 50, kByte)}})));
  give(without_gradient(op("sum of uint8", "x0.sum(0)", [](const Tensors& x) { return x[0].sum(0); },
                           {{integers({3, 4}, 1, 50, kByte)}})));
  give(
      without_gradient(op("exp of int32", "torch.exp(x0 % 5)", [](const Tensors& x) { return exp(x[0] % 5); },
                          {{integers({3, 4}, 1, 50, kInt)}})));
  give(without_gradient(op("sum of int32", "x0.sum(0)", [](const Tensors& x) { return x[0].sum(0); },
                           {{integers({3, 4}, 1, 50, kInt)}})));
  give(without_gradient(
      op("neg of int32", "-x0", [](const Tensors& x) { return -x[0]; }, {{integers({3, 4}, 1, 50, kInt)}})));
  give(
      without_gradient(op("exp of int16", "torch.exp(x0 % 5)", [](const Tensors& x) { return exp(x[0] % 5); },
                          {{integers({3, 4}, 1, 50, kShort)}})));
  give(without_gradient(op("sum of int16", "x0.sum(0)", [](const Tensors& x) { return x[0].sum(0); },
                           {{integers({3, 4}, 1, 50, kShort)}})));
  give(without_gradient(op("neg of int16", "-x0", [](const Tensors& x) { return -x[0]; },
                           {{integers({3, 4}, 1, 50, kShort)}})));
  give(without_gradient(op("exp of int8", "torch.exp(x0 % 5)", [](const Tensors& x) { return exp(x[0] % 5); },
                           {{integers({3, 4}, 1, 50, kChar)}})));
  give(without_gradient(op("sum of int8", "x0.sum(0)", [](const Tensors& x) { return x[0].sum(0); },
                           {{integers({3, 4}, 1, 50, kChar)}})));
  give(without_gradient(
      op("neg of int8", "-x0", [](const Tensors& x) { return -x[0]; }, {{integers({3, 4}, 1, 50, kChar)}})));
  return list;
}

}  // namespace tandem::testing
