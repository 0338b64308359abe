#include "tandem/onnx/elementwise.h"

#include "tandem/autograd/ops.h"

namespace tandem::onnx {

const std::vector<Elementwise>& elementwise_operations() {
  static const std::vector<Elementwise> list = {
      {"abs", abs, "Abs"},
      {"sqrt", sqrt, "Sqrt"},
      {"rsqrt", rsqrt, nullptr, "r = Sqrt(x)\n y = Reciprocal(r)"},
      {"reciprocal", reciprocal, "Reciprocal"},
      {"relu", relu, "Relu"},
      {"hardswish", hardswish, "HardSwish"},
      {"softsign", softsign, "Softsign"},
      {"exp", exp, "Exp"},
      {"exp2", exp2, nullptr, "y = Pow(2, x)"},
      {"expm1", expm1, nullptr, "h = Mul(x, 0.5)\n t = Tanh(h)\n e = Exp(x)\n s = Add(e, 1)\n y = Mul(t, s)"},
      {"log", log, "Log"},
      {"log2", log2, nullptr, "l = Log(x)\n y = Mul(l, 1.4426950408889634)"},
      {"log10", log10, nullptr, "l = Log(x)\n y = Mul(l, 0.4342944819032518)"},
      {"log1p", log1p, nullptr, "s = Add(x, 1)\n y = Log(s)"},
      {"erf", erf, "Erf"},
      {"erfc", erfc, nullptr, "e = Erf(x)\n y = Sub(1, e)"},
      {"sin", sin, "Sin"},
      {"cos", cos, "Cos"},
      {"tan", tan, "Tan"},
      {"asin", asin, "Asin"},
      {"acos", acos, "Acos"},
      {"atan", atan, "Atan"},
      {"sinh", sinh, "Sinh"},
      {"cosh", cosh, "Cosh"},
      {"tanh", tanh, "Tanh"},
      {"asinh", asinh, "Asinh"},
      {"acosh", acosh, "Acosh"},
      {"atanh", atanh, "Atanh"},
      {"sigmoid", sigmoid, "Sigmoid"},
      {"log_sigmoid", log_sigmoid, nullptr, "n = Neg(x)\n s = Softplus(n)\n y = Neg(s)"},
      {"silu", silu, nullptr, "s = Sigmoid(x)\n y = Mul(x, s)"},
      {"mish", mish, "Mish"},
      {"neg", neg, "Neg"},
      {"sign", sign, "Sign"},
      {"floor", floor, "Floor"},
      {"ceil", ceil, "Ceil"},
      {"round", round, "Round"},
      {"trunc", trunc, nullptr, "s = Sign(x)\n a = Abs(x)\n f = Floor(a)\n y = Mul(s, f)"},
      {"frac", frac, nullptr, "s = Sign(x)\n a = Abs(x)\n f = Floor(a)\n t = Mul(s, f)\n y = Sub(x, t)"},
      {"signbit", signbit, nullptr,
       "r = Reciprocal(x)\n low = Less(r, 0)\n zero = Equal(x, 0)\n below = And(zero, low)\n less = Less(x, 0)\n"
       "y = Or(less, below)"},
  };
  return list;
}

}  // namespace tandem::onnx
