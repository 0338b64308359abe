// The functions of the domain "tandem", their bodies, and what reads these.
#include "tandem/onnx/export/functions.h"

#include <cctype>
#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/onnx/elementwise.h"

namespace tandem::onnx::exporter {
namespace {

// A function and its body, one node a line:
//
//     y, i = Op(a, b) {axis=1, scale=@scale}
//     half = Constant {value_float=0.5}
//
// A number among a node's inputs is a constant of the type of the function's first input; `@scale` is the function's
// attribute of that name.
struct Function {
  std::string signature;  // y, i = function(a, b) {scale}; attributes have the types that they have in the body
  std::string operation;  // what it is in Tandem
  std::string body;
};

const std::vector<Function>& functions() {
  static const std::vector<Function> list = {
      {"y = softplus(x) {beta, threshold}", "softplus(x, beta, threshold)",
       "b = Constant {value_float=@beta}\n beta = CastLike(b, x)\n"
       "t = Constant {value_float=@threshold}\n threshold = CastLike(t, x)\n"
       "z = Mul(x, beta)\n s = Softplus(z)\n q = Div(s, beta)\n linear = Greater(z, threshold)\n"
       "y = Where(linear, x, q)"},
      {"y = threshold(x) {threshold, value}", "threshold(x, threshold, value)",
       "t = Constant {value_float=@threshold}\n threshold = CastLike(t, x)\n"
       "v = Constant {value_float=@value}\n value = CastLike(v, x)\n"
       "low = LessOrEqual(x, threshold)\n y = Where(low, value, x)"},
      {"y = trunc_divide(a, b)", "div(a, b, \"trunc\")",
       "q = Div(a, b)\n s = Sign(q)\n m = Abs(q)\n f = Floor(m)\n y = Mul(s, f)"},
      {"y = floor_divide(a, b)", "floor_divide(a, b)", "q = Div(a, b)\n y = Floor(q)"},
      {"y = remainder(a, b)", "remainder(a, b)", "q = Div(a, b)\n f = Floor(q)\n p = Mul(f, b)\n y = Sub(a, p)"},
      {"y = atan2(a, b)", "atan2(a, b)",
       "q = Div(a, b)\n t = Atan(q)\n up = GreaterOrEqual(a, 0)\n pi = Where(up, 3.141592653589793, "
       "-3.141592653589793)\n"
       "left = Less(b, 0)\n turn = Where(left, pi, 0)\n z = Add(t, turn)\n still = Equal(a, 0)\n none = Equal(b, 0)\n"
       "origin = And(still, none)\n y = Where(origin, 0, z)"},
      {"y = hypot(a, b)", "hypot(a, b)", "p = Mul(a, a)\n q = Mul(b, b)\n s = Add(p, q)\n y = Sqrt(s)"},
      {"y = lerp(a, b, weight)", "lerp(a, b, weight)", "d = Sub(b, a)\n p = Mul(weight, d)\n y = Add(a, p)"},
      // ---- reductions and scans
      {"y = variance(x, mean, divisor, axes)",
       "sum of (x - mean)^2 over `axes`, divided by the divisor, as the kernel of var computes it; kept dimensions",
       "d = Sub(x, mean)\n p = Mul(d, d)\n s = ReduceSum(p, axes) {keepdims=1}\n n = CastLike(divisor, x)\n"
       "y = Div(s, n)"},
      {"y = deviation(x, mean, divisor, axes)", "the square root of variance",
       "d = Sub(x, mean)\n p = Mul(d, d)\n s = ReduceSum(p, axes) {keepdims=1}\n n = CastLike(divisor, x)\n"
       "v = Div(s, n)\n y = Sqrt(v)"},
      {"y = cumprod(x, dim) {reverse}",
       "cumprod(x, dim), or from the last to the first; dim is a constant of no dimension",
       "a = Abs(x)\n l = Log(a)\n s = CumSum(l, dim) {reverse=@reverse}\n e = Exp(s)\n n = Less(x, 0)\n"
       "o = CastLike(n, x)\n c = CumSum(o, dim) {reverse=@reverse}\n m = Mod(c, 2) {fmod=1}\n t = Mul(m, 2)\n"
       "sign = Sub(1, t)\n y = Mul(sign, e)"},
      {"y = logcumsumexp(x, dim)", "logcumsumexp(x, dim); dim is a constant of no dimension",
       "m = ReduceMax(x) {keepdims=1}\n d = Sub(x, m)\n e = Exp(d)\n s = CumSum(e, dim)\n l = Log(s)\n y = Add(l, "
       "m)"},
      // ---- layers
      {"y = adaptive_avg_pool2d(x, rows, columns)",
       "adaptive_avg_pool2d(x, {rows.size(0), columns.size(1)}); rows and columns are matrices that take the means",
       "h = MatMul(rows, x)\n y = MatMul(h, columns)"},
      {"y = divided_avg_pool2d(x, factor) {kernel_shape, strides, pads, ceil_mode, divisor}",
       "avg_pool2d with a divisor: the sums of windows, divided by it; factor = the window's size / the divisor",
       "m = AveragePool(x) {kernel_shape=@kernel_shape, strides=@strides, pads=@pads, ceil_mode=@ceil_mode, "
       "count_include_pad=1}\n y = Mul(m, factor)"},
      {"mean, variance = batch_norm_statistics(x)",
       "mean and biased variance of each channel of x [N, C, S], as batch normalisation computes them in training",
       "axes = Constant {value_ints=[0, 2]}\n m = ReduceMean(x, axes) {keepdims=1}\n d = Sub(x, m)\n s = Mul(d, d)\n"
       "mean = ReduceMean(x, axes) {keepdims=0}\n variance = ReduceMean(s, axes) {keepdims=0}"},
      {"y = attention(q, k, v) {scale}", "scaled_dot_product_attention(q, k, v, {}, 0, false, scale)",
       "f = Constant {value_float=@scale}\n scale = CastLike(f, q)\n a = Mul(q, scale)\n"
       "t = Transpose(k) {perm=[0, 1, 3, 2]}\n s = MatMul(a, t)\n p = Softmax(s) {axis=-1}\n y = MatMul(p, v)"},
      {"y = masked_attention(q, k, v, mask) {scale}", "scaled_dot_product_attention(q, k, v, mask, 0, false, scale)",
       "f = Constant {value_float=@scale}\n scale = CastLike(f, q)\n a = Mul(q, scale)\n"
       "t = Transpose(k) {perm=[0, 1, 3, 2]}\n s = MatMul(a, t)\n m = Add(s, mask)\n p = Softmax(m) {axis=-1}\n"
       "y = MatMul(p, v)"},
      {"y = causal_attention(q, k, v) {scale}", "scaled_dot_product_attention(q, k, v, {}, 0, true, scale)",
       "f = Constant {value_float=@scale}\n scale = CastLike(f, q)\n a = Mul(q, scale)\n"
       "t = Transpose(k) {perm=[0, 1, 3, 2]}\n s = MatMul(a, t)\n"
       "sh = Shape(s) {start=2}\n low = ConstantOfShape(sh)\n one = Add(low, 1.0f)\n tri = Trilu(one) {upper=0}\n"
       "keep = Greater(tri, 0.5f)\n m = Where(keep, s, -3e38)\n p = Softmax(m) {axis=-1}\n y = MatMul(p, v)"},
      {"y = masked_causal_attention(q, k, v, mask) {scale}",
       "scaled_dot_product_attention(q, k, v, mask, 0, true, scale)",
       "f = Constant {value_float=@scale}\n scale = CastLike(f, q)\n a = Mul(q, scale)\n"
       "t = Transpose(k) {perm=[0, 1, 3, 2]}\n r = MatMul(a, t)\n s = Add(r, mask)\n"
       "sh = Shape(s) {start=2}\n low = ConstantOfShape(sh)\n one = Add(low, 1.0f)\n tri = Trilu(one) {upper=0}\n"
       "keep = Greater(tri, 0.5f)\n m = Where(keep, s, -3e38)\n p = Softmax(m) {axis=-1}\n y = MatMul(p, v)"},
      {"h, next_c = lstm_cell(gates, c)",
       "one step of an LSTM: gates [N, 4 H] = input, forget, cell, output before their activations; c [N, H]",
       "i0, f0, g0, o0 = Split(gates) {axis=1, num_outputs=4}\n i = Sigmoid(i0)\n f = Sigmoid(f0)\n g = Tanh(g0)\n"
       "o = Sigmoid(o0)\n kept = Mul(f, c)\n added = Mul(i, g)\n next_c = Add(kept, added)\n t = Tanh(next_c)\n"
       "h = Mul(o, t)"},
      {"y = gru_cell(gates, hidden, h)",
       "one step of a GRU: gates [N, 3 H] of the input, hidden [N, 3 H] of the state h [N, H], each reset, update, "
       "new",
       "a, b, c = Split(gates) {axis=1, num_outputs=3}\n d, e, f = Split(hidden) {axis=1, num_outputs=3}\n"
       "r0 = Add(a, d)\n r = Sigmoid(r0)\n z0 = Add(b, e)\n z = Sigmoid(z0)\n n0 = Mul(r, f)\n n1 = Add(c, n0)\n"
       "n = Tanh(n1)\n k = Sub(h, n)\n m = Mul(z, k)\n y = Add(n, m)"},
      {"y = quantized_linear(x, values, scales, bias) {block, columns}",
       "a linear layer with a weight of one byte: values [N, columns], scales [N, G] for `block` columns each",
       "n = Cast(values) {to=1}\n b = Constant {value_int=@block}\n c = Constant {value_int=@columns}\n"
       "axis = Constant {value_ints=[0]}\n last = Unsqueeze(c, axis)\n zero = Constant {value_int=0}\n"
       "step = Constant {value_int=1}\n columns = Range(zero, c, step)\n at = Div(columns, b)\n"
       "s = Gather(scales, at) {axis=1}\n w = Mul(n, s)\n y = Gemm(x, w, bias) {transB=1}"},
      {"y = quantized_product(x, values, scales) {block, columns}", "quantized_linear without a bias",
       "n = Cast(values) {to=1}\n b = Constant {value_int=@block}\n c = Constant {value_int=@columns}\n"
       "zero = Constant {value_int=0}\n step = Constant {value_int=1}\n columns = Range(zero, c, step)\n"
       "at = Div(columns, b)\n s = Gather(scales, at) {axis=1}\n w = Mul(n, s)\n y = Gemm(x, w) {transB=1}"},
  };
  return list;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == separator && depth == 0) {
      parts.emplace_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.emplace_back(trimmed(part));
  return parts;
}

bool is_number(std::string_view text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '-');
}

// The parts of `y, i = Op(a, b) {axis=1}`.
struct Line {
  explicit Line(std::string_view text) {
    const std::size_t equals = text.find(" = ");
    outputs = split(text.substr(0, equals), ',');
    text.remove_prefix(equals + 3);
    if (const std::size_t brace = text.find('{'); brace != text.npos) {
      attributes = split(text.substr(brace + 1, text.rfind('}') - brace - 1), ',');
      text = trimmed(text.substr(0, brace));
    }
    if (const std::size_t open = text.find('('); open != text.npos) {
      inputs = split(text.substr(open + 1, text.rfind(')') - open - 1), ',');
      text = text.substr(0, open);
    }
    op = text;
  }
  std::string op;
  std::vector<std::string> outputs, inputs, attributes;
};

class Body {
 public:
  Body(proto::FunctionProto& to, const Line& signature) : to_(to), signature_(signature) {}

  void add(const Line& line) {
    std::vector<std::string> inputs = line.inputs;
    for (std::string& input : inputs)
      if (is_number(input)) input = constant(input);
    proto::NodeProto& node = *to_.add_node();
    node.set_op_type(line.op);
    for (const std::string& input : inputs) node.add_input(input);
    for (const std::string& output : line.outputs) node.add_output(output);
    for (const std::string& attribute : line.attributes) set(node, attribute);
  }

 private:
  // A number of the type of the first input, or with an f at its end of float32.
  std::string constant(const std::string& number) {
    const std::string name = concat("number", count_++), given = number.back() == 'f' ? name : name + "_float";
    add(Line(concat(given, " = Constant {value_float=", number, "}")));
    if (given != name) add(Line(concat(name, " = CastLike(", given, ", ", signature_.inputs[0], ")")));
    return name;
  }

  void set(proto::NodeProto& node, const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
    proto::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    const bool real = name == "value_float";
    const bool list = name == "kernel_shape" || name == "strides" || name == "pads" || value[0] == '[';
    attribute.set_type(real   ? proto::AttributeProto::FLOAT
                       : list ? proto::AttributeProto::INTS
                              : proto::AttributeProto::INT);
    if (value[0] == '@') {
      attribute.set_ref_attr_name(value.substr(1));
    } else if (value[0] == '[') {
      for (const std::string& each : split(value.substr(1, value.size() - 2), ','))
        attribute.add_ints(std::stoll(each));
    } else if (real) {
      attribute.set_f(std::strtof(value.c_str(), nullptr));
    } else {
      attribute.set_i(std::stoll(value));
    }
  }

  proto::FunctionProto& to_;
  const Line& signature_;
  int count_ = 0;
};

// All functions by their names.
std::map<std::string, Function> by_name() {
  std::map<std::string, Function> all;
  for (const Function& function : functions()) all[Line(function.signature).op] = function;
  for (const Elementwise& e : elementwise_operations())
    if (e.body != nullptr) all[e.name] = {concat("y = ", e.name, "(x)"), concat(e.name, "(x)"), e.body};
  return all;
}

}  // namespace

void add_functions(proto::ModelProto& model, const std::set<std::string>& names) {
  const std::map<std::string, Function> all = by_name();
  for (const std::string& name : names) {
    const auto found = all.find(name);
    check(found != all.end(), "onnx::save: the function ", name, " has no definition");
    const Line signature(found->second.signature);
    proto::FunctionProto& to = *model.add_functions();
    to.set_name(name);
    to.set_domain(kDomain);
    to.set_doc_string(found->second.operation);
    for (const std::string& input : signature.inputs) to.add_input(input);
    for (const std::string& output : signature.outputs) to.add_output(output);
    for (const std::string& attribute : signature.attributes) to.add_attribute(attribute);
    proto::OperatorSetIdProto& opset = *to.add_opset_import();
    opset.set_domain("");
    opset.set_version(kOpset);
    Body body(to, signature);
    for (const std::string& line : split(found->second.body, '\n')) body.add(Line(line));
  }
}

}  // namespace tandem::onnx::exporter
