// Elementwise operators, softmax, running sums, conversions.
#include <cmath>

#include "tandem/onnx/elementwise.h"
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

// Before set 7, the second operand is only broadcast if the attribute says so, from the dimension `axis`.
Tensor second(const Call& c) {
  const Tensor& b = c[1];
  if (c.version() >= 7 || !c.flag("broadcast") || !c.has("axis")) return b;
  const int64_t behind = c[0].dim() - wrap_axis(c.integer("axis"), c[0].dim()) - b.dim();
  check(behind >= 0, "the second operand has too many dimensions: ", b);
  std::vector<int64_t> sizes = b.sizes().vec();
  sizes.resize(sizes.size() + static_cast<std::size_t>(behind), 1);
  return b.view(sizes);
}
template <Tensor (*operation)(const Tensor&, const Tensor&)>
Tensor binary(Call& c) {
  return operation(c[0], second(c));
}

// ONNX does not promote: the result has the dtype of its operands.
Tensor divide(Call& c) {
  const Tensor b = second(c);
  return isIntegralType(c[0].scalar_type()) ? div(c[0], b, "trunc") : div(c[0], b);
}
Tensor power(Call& c) {
  const Tensor& base = c[0];
  const Tensor exponent = second(c);
  const ScalarType dtype = base.scalar_type();
  if (isIntegralType(dtype) && isIntegralType(exponent.scalar_type()))
    return pow(base.to(kDouble), exponent.to(kDouble)).to(dtype);
  // A number, as in x², has faster kernels.
  const bool number = exponent.dim() == 0 && exponent.device().is_cpu() && !exponent.requires_grad();
  return (number ? pow(base, exponent.item()) : pow(base, exponent)).to(dtype);
}
Tensor modulo(Call& c) { return c.flag("fmod") ? fmod(c[0], c[1]) : remainder(c[0], c[1]); }
Tensor shift(Call& c) {
  return c.text("direction", "") == "LEFT" ? bitwise_left_shift(c[0], c[1]) : bitwise_right_shift(c[0], c[1]);
}

template <class Operation>
Tensor fold(Call& c, const Operation& operation) {
  check(c.size() > 0, "it has no inputs");
  Tensor out = c[0];
  for (std::size_t i = 1; i < c.size(); ++i) out = operation(out, c[i]);
  return out;
}
Tensor sum_of(Call& c) {
  return fold(c, [](const Tensor& a, const Tensor& b) { return a + b; });
}

// The bounds are numbers, as an attribute (before set 11) or as a tensor.
tandem::optional<Scalar> bound(const Call& c, std::size_t input, std::string_view attribute) {
  if (c.has(attribute)) return Scalar(c.number(attribute));
  if (!c.has(input)) return nullopt;
  check(c[input].numel() == 1, "a bound must be one number, got ", c[input]);
  return c[input].item();
}
Tensor clip(Call& c) {
  const auto low = bound(c, 1, "min"), high = bound(c, 2, "max");
  if (!low && !high) return c[0];
  return clamp(c[0], low, high).to(c[0].scalar_type());
}

Tensor prelu_of(Call& c) {
  const Tensor &x = c[0], &slope = c[1];
  // One slope per channel, or one for all, is one kernel.
  if (slope.numel() == 1) return prelu(x, slope.reshape({1}));
  const bool listed = c.version() < 7 && slope.dim() == 1;
  if (x.dim() > 1 && slope.numel() == x.size(1) &&
      (listed || (slope.dim() == x.dim() - 1 && slope.size(0) == x.size(1))))
    return prelu(x, slope.reshape({x.size(1)}));
  return where(x < 0, x * slope, x);
}
Tensor elu_of(Call& c) { return elu(c[0], c.number("alpha", 1)); }
Tensor selu_of(Call& c) {
  const double alpha = c.number("alpha", 1.67326319217681884765625);
  const double gamma = c.number("gamma", 1.05070102214813232421875);
  return elu(c[0], alpha, gamma);
}
Tensor hard_sigmoid(Call& c) {
  const double alpha = c.number("alpha", 0.2), beta = c.number("beta", 0.5);
  if (beta == 0.5 && std::abs(alpha - 1.0 / 6) < 1e-7) return hardsigmoid(c[0]);
  return clamp(c[0] * alpha + beta, 0, 1);
}
Tensor shrink(Call& c) {
  const double lambda = c.number("lambd", 0.5), bias = c.number("bias", 0);
  const Tensor x = c[0];
  const Tensor below = x<-lambda, above = x> lambda;
  return where(below, x + bias, where(above, x - bias, zeros_like(x))).to(x.scalar_type());
}
Tensor is_infinite(Call& c) {
  const bool negative = c.flag("detect_negative", true), positive = c.flag("detect_positive", true);
  if (negative && positive) return isinf(c[0]);
  return negative ? isneginf(c[0]) : positive ? isposinf(c[0]) : zeros_like(c[0], kBool);
}

// Before set 13, the dimensions from `axis` on are one.
template <Tensor (*operation)(const Tensor&, int64_t, tandem::optional<ScalarType>)>
Tensor softmax_of(Call& c) {
  const Tensor& x = c[0];
  if (c.version() >= 13) return operation(x, c.integer("axis", -1), nullopt);
  const int64_t axis = c.integer("axis", 1);
  if (axis == x.dim()) return operation(x.unsqueeze(-1), -1, nullopt).squeeze(-1);
  const int64_t from = wrap_axis(axis, x.dim());
  return operation(x.flatten(from), from, nullopt).view(x.sizes());
}

template <Tensor (*operation)(const Tensor&, int64_t, tandem::optional<ScalarType>)>
Tensor running(Call& c, double start) {
  const int64_t axis = wrap_axis(c.integer(std::size_t{1}), c[0].dim());
  Tensor x = c[0];
  const bool reverse = c.flag("reverse");
  if (reverse) x = flip(x, axis);
  if (c.flag("exclusive") && x.size(axis) > 0)
    x = cat({full_like(x.narrow(axis, 0, 1), start), x.narrow(axis, 0, x.size(axis) - 1)}, axis);
  x = operation(x, axis, c[0].scalar_type());
  return reverse ? flip(x, axis) : x;
}

ScalarType target(const Call& c) {
  check(c.has("to"), "attribute 'to' is missing");
  return c.dtype("to", kFloat);
}
Tensor bit_cast(Call& c) {
  const ScalarType dtype = target(c);
  check(elementSize(dtype) == elementSize(c[0].scalar_type()), "bits of ", c[0].scalar_type(), " are no ", dtype);
  if (dtype == kBool) return c[0] != 0;  // a bool has no other bits
  return c[0].contiguous().view(dtype);
}

}  // namespace

Tensor swish(const Tensor& x, double alpha) { return alpha == 1 ? silu(x) : x * sigmoid(x * alpha); }

Operators math_operators() {
  Operators all = {
      {"Add", [](Call& c) { return c[0] + second(c); }},
      {"And", binary<logical_and>},
      {"BitCast", bit_cast},
      {"BitShift", shift},
      {"BitwiseAnd", [](Call& c) { return c[0] & c[1]; }},
      {"BitwiseNot", [](Call& c) { return bitwise_not(c[0]); }},
      {"BitwiseOr", [](Call& c) { return c[0] | c[1]; }},
      {"BitwiseXor", [](Call& c) { return c[0] ^ c[1]; }},
      {"Cast", [](Call& c) { return c[0].to(target(c)); }},
      {"CastLike", [](Call& c) { return c[0].to(c[1].scalar_type()); }},
      {"Celu", [](Call& c) { return celu(c[0], c.number("alpha", 1)); }},
      {"Clip", clip, 0b110},
      {"CumProd", [](Call& c) { return running<cumprod>(c, 1); }, 0b10},
      {"CumSum", [](Call& c) { return running<cumsum>(c, 0); }, 0b10},
      {"Div", divide},
      {"Elu", elu_of},
      {"Equal", binary<eq>},
      {"Gelu", [](Call& c) { return gelu(c[0], c.text("approximate", "none")); }},
      {"Greater", binary<gt>},
      {"GreaterOrEqual", binary<ge>},
      {"HardSigmoid", hard_sigmoid},
      {"Identity", [](Call& c) { return c.value(0); }},
      {"IsInf", is_infinite},
      {"IsNaN", [](Call& c) { return isnan(c[0]); }},
      {"LeakyRelu", [](Call& c) { return leaky_relu(c[0], c.number("alpha", 0.01)); }},
      {"Less", binary<lt>},
      {"LessOrEqual", binary<le>},
      {"LogSoftmax", softmax_of<log_softmax>},
      {"Max", [](Call& c) { return fold(c, [](const Tensor& a, const Tensor& b) { return maximum(a, b); }); }},
      {"Mean", [](Call& c) { return sum_of(c) / static_cast<double>(c.size()); }},
      {"Min", [](Call& c) { return fold(c, [](const Tensor& a, const Tensor& b) { return minimum(a, b); }); }},
      {"Mod", modulo},
      {"Mul", [](Call& c) { return c[0] * second(c); }},
      {"Not", [](Call& c) { return logical_not(c[0]); }},
      {"Or", binary<logical_or>},
      {"Pow", power},
      {"PRelu", prelu_of},
      {"Selu", selu_of},
      {"Shrink", shrink},
      {"Softmax", softmax_of<softmax>},
      {"Softplus", [](Call& c) { return softplus(c[0]); }},
      {"Sub", [](Call& c) { return c[0] - second(c); }},
      {"Sum", sum_of},
      {"Swish", [](Call& c) { return swish(c[0], c.number("alpha", 1)); }},
      {"ThresholdedRelu", [](Call& c) { return threshold(c[0], c.number("alpha", 1), 0); }},
      {"Where", [](Call& c) { return where(c[0], c[1], c[2]); }},
      {"Xor", binary<logical_xor>},
  };
  for (const Elementwise& e : elementwise_operations())
    if (e.op != nullptr) all.push_back({e.op, [f = e.operation](Call& c) { return f(c[0]); }});
  return all;
}

}  // namespace tandem::onnx
