// The functions of the domain "tandem" and their bodies.
#include "tandem/onnx/export/functions.h"

namespace tandem::onnx::exporter {

const std::vector<Function>& functions() {
  static const std::vector<Function> list = {
      // ---- elementwise
      {"rsqrt", "rsqrt(x)", {"x"}, {"y"}, {}, "r = Sqrt(x)\n y = Reciprocal(r)"},
      {"exp2", "exp2(x)", {"x"}, {"y"}, {}, "y = Pow(2, x)"},
      {"expm1",
       "expm1(x)",
       {"x"},
       {"y"},
       {},
       "h = Mul(x, 0.5)\n t = Tanh(h)\n e = Exp(x)\n s = Add(e, 1)\n y = Mul(t, s)"},
      {"log2", "log2(x)", {"x"}, {"y"}, {}, "l = Log(x)\n y = Mul(l, 1.4426950408889634)"},
      {"log10", "log10(x)", {"x"}, {"y"}, {}, "l = Log(x)\n y = Mul(l, 0.4342944819032518)"},
      {"log1p", "log1p(x)", {"x"}, {"y"}, {}, "s = Add(x, 1)\n y = Log(s)"},
      {"erfc", "erfc(x)", {"x"}, {"y"}, {}, "e = Erf(x)\n y = Sub(1, e)"},
      {"log_sigmoid", "log_sigmoid(x)", {"x"}, {"y"}, {}, "n = Neg(x)\n s = Softplus(n)\n y = Neg(s)"},
      {"silu", "silu(x)", {"x"}, {"y"}, {}, "s = Sigmoid(x)\n y = Mul(x, s)"},
      {"softplus",
       "softplus(x, beta, threshold)",
       {"x"},
       {"y"},
       {"beta", "threshold"},
       "b = Constant {value_float=@beta}\n beta = CastLike(b, x)\n"
       "t = Constant {value_float=@threshold}\n threshold = CastLike(t, x)\n"
       "z = Mul(x, beta)\n s = Softplus(z)\n q = Div(s, beta)\n linear = Greater(z, threshold)\n"
       "y = Where(linear, x, q)"},
      {"threshold",
       "threshold(x, threshold, value)",
       {"x"},
       {"y"},
       {"threshold", "value"},
       "t = Constant {value_float=@threshold}\n threshold = CastLike(t, x)\n"
       "v = Constant {value_float=@value}\n value = CastLike(v, x)\n"
       "low = LessOrEqual(x, threshold)\n y = Where(low, value, x)"},
      {"signbit",
       "signbit(x)",
       {"x"},
       {"y"},
       {},
       "r = Reciprocal(x)\n low = Less(r, 0)\n zero = Equal(x, 0)\n below = And(zero, low)\n less = Less(x, 0)\n"
       "y = Or(less, below)"},
      {"trunc", "trunc(x)", {"x"}, {"y"}, {}, "s = Sign(x)\n a = Abs(x)\n f = Floor(a)\n y = Mul(s, f)"},
      {"frac", "frac(x)", {"x"}, {"y"}, {}, "s = Sign(x)\n a = Abs(x)\n f = Floor(a)\n t = Mul(s, f)\n y = Sub(x, t)"},
      {"trunc_divide",
       "div(a, b, \"trunc\")",
       {"a", "b"},
       {"y"},
       {},
       "q = Div(a, b)\n s = Sign(q)\n m = Abs(q)\n f = Floor(m)\n y = Mul(s, f)"},
      {"floor_divide", "floor_divide(a, b)", {"a", "b"}, {"y"}, {}, "q = Div(a, b)\n y = Floor(q)"},
      {"remainder",
       "remainder(a, b)",
       {"a", "b"},
       {"y"},
       {},
       "q = Div(a, b)\n f = Floor(q)\n p = Mul(f, b)\n y = Sub(a, p)"},
      {"atan2",
       "atan2(a, b)",
       {"a", "b"},
       {"y"},
       {},
       "q = Div(a, b)\n t = Atan(q)\n up = GreaterOrEqual(a, 0)\n pi = Where(up, 3.141592653589793, "
       "-3.141592653589793)\n"
       "left = Less(b, 0)\n turn = Where(left, pi, 0)\n z = Add(t, turn)\n still = Equal(a, 0)\n none = Equal(b, 0)\n"
       "origin = And(still, none)\n y = Where(origin, 0, z)"},
      {"hypot", "hypot(a, b)", {"a", "b"}, {"y"}, {}, "p = Mul(a, a)\n q = Mul(b, b)\n s = Add(p, q)\n y = Sqrt(s)"},
      {"lerp",
       "lerp(a, b, weight)",
       {"a", "b", "weight"},
       {"y"},
       {},
       "d = Sub(b, a)\n p = Mul(weight, d)\n y = Add(a, p)"},
      // ---- reductions and scans
      {"variance",
       "sum of (x - mean)^2 over `axes`, divided by the divisor, as the kernel of var computes it; kept dimensions",
       {"x", "mean", "divisor", "axes"},
       {"y"},
       {},
       "d = Sub(x, mean)\n p = Mul(d, d)\n s = ReduceSum(p, axes) {keepdims=1}\n n = CastLike(divisor, x)\n"
       "y = Div(s, n)"},
      {"deviation",
       "the square root of variance",
       {"x", "mean", "divisor", "axes"},
       {"y"},
       {},
       "d = Sub(x, mean)\n p = Mul(d, d)\n s = ReduceSum(p, axes) {keepdims=1}\n n = CastLike(divisor, x)\n"
       "v = Div(s, n)\n y = Sqrt(v)"},
      {"cumprod",
       "cumprod(x, dim), or from the last to the first; dim is a constant of no dimension",
       {"x", "dim"},
       {"y"},
       {"reverse"},
       "a = Abs(x)\n l = Log(a)\n s = CumSum(l, dim) {reverse=@reverse}\n e = Exp(s)\n n = Less(x, 0)\n"
       "o = CastLike(n, x)\n c = CumSum(o, dim) {reverse=@reverse}\n m = Mod(c, 2) {fmod=1}\n t = Mul(m, 2)\n"
       "sign = Sub(1, t)\n y = Mul(sign, e)"},
      {"logcumsumexp",
       "logcumsumexp(x, dim); dim is a constant of no dimension",
       {"x", "dim"},
       {"y"},
       {},
       "m = ReduceMax(x) {keepdims=1}\n d = Sub(x, m)\n e = Exp(d)\n s = CumSum(e, dim)\n l = Log(s)\n y = Add(l, m)"},
      // ---- layers
      {"adaptive_avg_pool2d",
       "adaptive_avg_pool2d(x, {rows.size(0), columns.size(1)}); rows and columns are matrices that take the means",
       {"x", "rows", "columns"},
       {"y"},
       {},
       "h = MatMul(rows, x)\n y = MatMul(h, columns)"},
      {"divided_avg_pool2d",
       "avg_pool2d with a divisor: the sums of windows, divided by it; factor = the window's size / the divisor",
       {"x", "factor"},
       {"y"},
       {"kernel_shape", "strides", "pads", "ceil_mode", "divisor"},
       "m = AveragePool(x) {kernel_shape=@kernel_shape, strides=@strides, pads=@pads, ceil_mode=@ceil_mode, "
       "count_include_pad=1}\n y = Mul(m, factor)"},
      {"batch_norm_statistics",
       "mean and biased variance of each channel of x [N, C, S], as batch normalisation computes them in training",
       {"x"},
       {"mean", "variance"},
       {},
       "axes = Constant {value_ints=[0, 2]}\n m = ReduceMean(x, axes) {keepdims=1}\n d = Sub(x, m)\n s = Mul(d, d)\n"
       "mean = ReduceMean(x, axes) {keepdims=0}\n variance = ReduceMean(s, axes) {keepdims=0}"},
      {"attention",
       "scaled_dot_product_attention(q, k, v, {}, 0, false, scale)",
       {"q", "k", "v"},
       {"y"},
       {"scale"},
       "f = Constant {value_float=@scale}\n scale = CastLike(f, q)\n a = Mul(q, scale)\n"
       "t = Transpose(k) {perm=[0, 1, 3, 2]}\n s = MatMul(a, t)\n p = Softmax(s) {axis=-1}\n y = MatMul(p, v)"},
      {"masked_attention",
       "scaled_dot_product_attention(q, k, v, mask, 0, false, scale)",
       {"q", "k", "v", "mask"},
       {"y"},
       {"scale"},
       "f = Constant {value_float=@scale}\n scale = CastLike(f, q)\n a = Mul(q, scale)\n"
       "t = Transpose(k) {perm=[0, 1, 3, 2]}\n s = MatMul(a, t)\n m = Add(s, mask)\n p = Softmax(m) {axis=-1}\n"
       "y = MatMul(p, v)"},
      {"causal_attention",
       "scaled_dot_product_attention(q, k, v, {}, 0, true, scale)",
       {"q", "k", "v"},
       {"y"},
       {"scale"},
       "f = Constant {value_float=@scale}\n scale = CastLike(f, q)\n a = Mul(q, scale)\n"
       "t = Transpose(k) {perm=[0, 1, 3, 2]}\n s = MatMul(a, t)\n"
       "sh = Shape(s) {start=2}\n low = ConstantOfShape(sh)\n one = Add(low, 1.0f)\n tri = Trilu(one) {upper=0}\n"
       "keep = Greater(tri, 0.5f)\n m = Where(keep, s, -3e38)\n p = Softmax(m) {axis=-1}\n y = MatMul(p, v)"},
      {"masked_causal_attention",
       "scaled_dot_product_attention(q, k, v, mask, 0, true, scale)",
       {"q", "k", "v", "mask"},
       {"y"},
       {"scale"},
       "f = Constant {value_float=@scale}\n scale = CastLike(f, q)\n a = Mul(q, scale)\n"
       "t = Transpose(k) {perm=[0, 1, 3, 2]}\n r = MatMul(a, t)\n s = Add(r, mask)\n"
       "sh = Shape(s) {start=2}\n low = ConstantOfShape(sh)\n one = Add(low, 1.0f)\n tri = Trilu(one) {upper=0}\n"
       "keep = Greater(tri, 0.5f)\n m = Where(keep, s, -3e38)\n p = Softmax(m) {axis=-1}\n y = MatMul(p, v)"},
      {"lstm_cell",
       "one step of an LSTM: gates [N, 4 H] = input, forget, cell, output before their activations; c [N, H]",
       {"gates", "c"},
       {"h", "next_c"},
       {},
       "i0, f0, g0, o0 = Split(gates) {axis=1, num_outputs=4}\n i = Sigmoid(i0)\n f = Sigmoid(f0)\n g = Tanh(g0)\n"
       "o = Sigmoid(o0)\n kept = Mul(f, c)\n added = Mul(i, g)\n next_c = Add(kept, added)\n t = Tanh(next_c)\n"
       "h = Mul(o, t)"},
      {"gru_cell",
       "one step of a GRU: gates [N, 3 H] of the input, hidden [N, 3 H] of the state h [N, H], each reset, update, new",
       {"gates", "hidden", "h"},
       {"y"},
       {},
       "a, b, c = Split(gates) {axis=1, num_outputs=3}\n d, e, f = Split(hidden) {axis=1, num_outputs=3}\n"
       "r0 = Add(a, d)\n r = Sigmoid(r0)\n z0 = Add(b, e)\n z = Sigmoid(z0)\n n0 = Mul(r, f)\n n1 = Add(c, n0)\n"
       "n = Tanh(n1)\n k = Sub(h, n)\n m = Mul(z, k)\n y = Add(n, m)"},
      {"quantized_linear",
       "a linear layer with a weight of one byte: values [N, columns], scales [N, G] for `block` columns each",
       {"x", "values", "scales", "bias"},
       {"y"},
       {"block", "columns"},
       "n = Cast(values) {to=1}\n b = Constant {value_int=@block}\n c = Constant {value_int=@columns}\n"
       "axis = Constant {value_ints=[0]}\n last = Unsqueeze(c, axis)\n zero = Constant {value_int=0}\n"
       "step = Constant {value_int=1}\n columns = Range(zero, c, step)\n at = Div(columns, b)\n"
       "s = Gather(scales, at) {axis=1}\n w = Mul(n, s)\n y = Gemm(x, w, bias) {transB=1}"},
      {"quantized_product",
       "quantized_linear without a bias",
       {"x", "values", "scales"},
       {"y"},
       {"block", "columns"},
       "n = Cast(values) {to=1}\n b = Constant {value_int=@block}\n c = Constant {value_int=@columns}\n"
       "zero = Constant {value_int=0}\n step = Constant {value_int=1}\n columns = Range(zero, c, step)\n"
       "at = Div(columns, b)\n s = Gather(scales, at) {axis=1}\n w = Mul(n, s)\n y = Gemm(x, w) {transB=1}"},
  };
  return list;
}

const Function* find_function(std::string_view name) {
  for (const Function& f : functions())
    if (f.name == name) return &f;
  return nullptr;
}

}  // namespace tandem::onnx::exporter
