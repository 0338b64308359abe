// Translations of the elementwise kernels and of copies.
#include <algorithm>
#include <cmath>
#include <optional>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/unary.h"
#include "tandem/onnx/elementwise.h"
#include "tandem/onnx/export/arguments.h"

namespace tandem::onnx::exporter {
namespace {

// ---- one argument

void elementwise(Recorder& r, const KernelCall& call) {
  const std::vector<Elementwise>& all = elementwise_operations();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Elementwise& e) { return call.name == std::string_view(e.name); });
  const Id x = r.read(tensor(call, 1));
  r.write(tensor(call, 0),
          found->op != nullptr ? r.add(found->op, {x}) : r.call(found->name, {x}, {}, r[x].dtype, r[x].sizes));
}

struct Unary {
  Recorder& r;
  const Tensor& out;
  Id x;
  Scalar first, second;  // parameters
  double p = first.toDouble(), q = second.toDouble();
  Id add(const char* op, Attributes attributes = {}) const { return r.add(op, {x}, std::move(attributes)); }
  Id call(const char* function, Attributes attributes = {}) const {
    return r.call(function, {x}, std::move(attributes), r[x].dtype, r[x].sizes);
  }
};

template <class F>
constexpr Translation unary(F) {
  return [](Recorder& r, const KernelCall& call) {
    const Scalar* parameters = argument<const Scalar*>(call, 2);
    const auto number = [&](int i) { return parameters != nullptr ? parameters[i] : Scalar(0); };
    const Tensor& out = tensor(call, 0);
    r.write(out, F{}(Unary{r, out, r.read(tensor(call, 1)), number(0), number(1)}, call));
  };
}
#define RULE(kernel, ...)                                                                   \
  {                                                                                         \
    kernel, unary([](const Unary& u, const KernelCall& call) -> Id { return __VA_ARGS__; }) \
  }

bool is_tanh_gelu(const KernelCall& call) {
  return call.name == backend(tensor(call, 0)).unary.value.get<ops::GeluTanh>().name();
}

Id clipped(const Unary& u) {
  const ScalarType dtype = computed_type(u.out.scalar_type());
  const Id clip = u.r.add("Clip", {u.r.cast(u.x, dtype), u.r.number(u.first, dtype), u.r.number(u.second, dtype)});
  return u.r.cast(clip, u.out.scalar_type());
}
Id elu(const Unary& u) {
  return u.q == 1 ? u.add("Elu", {{"alpha", u.p}}) : u.add("Selu", {{"alpha", u.p}, {"gamma", u.q}});
}
Id softplus(const Unary& u) {
  return u.p == 1 && u.q == 20 ? u.add("Softplus") : u.call("softplus", {{"beta", u.p}, {"threshold", u.q}});
}

const Translations kUnary = {
    RULE("square", u.r.add("Mul", {u.x, u.x})),
    RULE("clamp", clipped(u)),
    RULE("hardtanh", clipped(u)),
    RULE("threshold", u.call("threshold", {{"threshold", u.p}, {"value", u.q}})),
    RULE("leaky_relu", u.add("LeakyRelu", {{"alpha", u.p}})),
    RULE("hardsigmoid", u.add("HardSigmoid", {{"alpha", 1.0 / 6}, {"beta", 0.5}})),
    RULE("softplus", softplus(u)),
    RULE("elu", elu(u)),
    RULE("celu", u.add("Celu", {{"alpha", u.p}})),
    RULE("gelu", u.add("Gelu", {{"approximate", std::string(is_tanh_gelu(call) ? "tanh" : "none")}})),
    RULE("bitwise_not", u.add(u.out.dtype() == kBool ? "Not" : "BitwiseNot")),
};
#undef RULE

// ---- two and three arguments

// Without dimensions that are repeated, because ONNX's operators repeat them.
Tensor once(const Tensor& t) {
  Dims sizes(t.sizes());
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (t.strides()[d] == 0 && sizes[d] > 1) sizes[d] = 1;
  return alias(t, sizes, t.strides(), t.storage_offset());
}

// The operands, which broadcast to out's sizes. Kernels compute half types in float32 and round once, with numbers that
// are not rounded. A single operator of tensors is the same in a half type; otherwise the translation computes in
// float32, too.
std::vector<Id> operands(Recorder& r, const KernelCall& call, std::size_t first, std::size_t count, const Tensor& out) {
  std::vector<const Tensor*> tensors;  // nullptr for a number
  std::optional<Dims> sizes;
  ScalarType dtype = out.scalar_type();
  for (std::size_t i = first; i < first + count; ++i) {
    const Operand* operand = call.argument<Operand>(i);
    const Tensor* t = operand != nullptr ? operand->tensor : call.argument<Tensor>(i);
    tensors.push_back(t);
    if (t == nullptr) continue;
    const Tensor each = once(*t);
    sizes = sizes ? broadcast_sizes(*sizes, each.sizes(), call.name) : Dims(each.sizes());
    if (operand != nullptr) dtype = t->scalar_type();  // comparisons have another dtype than their arguments
  }
  const bool repeated = sizes && IntArrayRef(*sizes) != out.sizes(), number = std::ranges::count(tensors, nullptr) != 0;
  const Scalar* parameter = call.argument<Scalar>(first + count);
  const bool scaled = parameter != nullptr && std::fabs(parameter->toDouble()) > 1;
  const bool in_float = isReducedFloatingType(dtype) && (number || count == 3 || scaled);
  std::vector<Id> ids;
  for (const Tensor* t : tensors) {
    if (t == nullptr) {
      const auto& operand = argument<Operand>(call, first + ids.size());
      ids.push_back(r.number(operand.scalar, in_float ? kFloat : dtype));
    } else {
      const Id id = r.read(repeated ? *t : once(*t));
      ids.push_back(in_float && r[id].dtype == dtype ? r.cast(id, kFloat) : id);
    }
  }
  return ids;
}

struct Several {
  Recorder& r;
  const Tensor& out;
  std::vector<Id> of;
  Scalar p;
  bool is_bool() const { return r[of.back()].dtype == kBool; }
  bool is_integer() const { return !isFloatingType(r[of.back()].dtype); }
  Id add(const std::string& op, std::vector<Id> inputs, Attributes attributes = {}) const {
    return r.add(op, std::move(inputs), std::move(attributes), r[of.back()].dtype, sizes_of(out));
  }
  Id add(const std::string& op) const { return add(op, of); }
  Id compare(const std::string& op, std::vector<Id> inputs) const {
    return r.add(op, std::move(inputs), {}, kBool, sizes_of(out));
  }
  Id call(const char* function) const { return r.call(function, of, {}, r[of.back()].dtype, sizes_of(out)); }
  Id scaled(Id id) const { return p.toDouble() == 1 ? id : r.add("Mul", {id, r.number(p, r[id].dtype)}); }
};

template <std::size_t first, std::size_t count, class F>
constexpr Translation several(F) {
  return [](Recorder& r, const KernelCall& call) {
    const Tensor& out = tensor(call, 0);
    const Scalar* parameter = call.argument<Scalar>(first + count);
    Several s{r, out, operands(r, call, first, count, out), parameter != nullptr ? *parameter : Scalar(0)};
    r.write(out, r.cast(F{}(s, call), out.scalar_type()));
  };
}
#define PAIR(kernel, ...)                                                                             \
  {                                                                                                   \
    kernel, several<1, 2>([](const Several& s, const KernelCall& call) -> Id { return __VA_ARGS__; }) \
  }
#define TRIPLE(kernel, ...)                                                                      \
  {                                                                                              \
    kernel, several<1, 3>([](const Several& s, const KernelCall&) -> Id { return __VA_ARGS__; }) \
  }

Id sum(const Several& s) {
  if (s.is_bool()) return s.add("Or");
  if (s.p.toDouble() == -1) return s.add("Sub");
  return s.add("Add", {s.of[0], s.scaled(s.of[1])});
}
bool truncates(const KernelCall& call) {
  return call.name == backend(tensor(call, 0)).binary.value.get<ops::TruncDivide>().name();
}
Id quotient(const Several& s, const KernelCall& call) {
  return truncates(call) && !s.is_integer() ? s.call("trunc_divide") : s.add("Div");
}
Id floor_quotient(const Several& s) {
  if (!s.is_integer()) return s.call("floor_divide");
  return s.add("Div", {s.add("Sub", {s.of[0], s.add("Mod")}), s.of[1]});
}
Id bitwise(const Several& s, const char* of_bools, const char* of_integers) {
  return s.add(s.is_bool() ? of_bools : of_integers);
}
// ONNX shifts unsigned integers only.
Id power_of_two(const Several& s) { return s.add("Pow", {s.r.number(2, s.r[s.of[1]].dtype), s.of[1]}); }
Id right_shift(const Several& s) {
  const Id power = power_of_two(s), rest = s.add("Mod", {s.of[0], power});
  return s.add("Div", {s.add("Sub", {s.of[0], rest}), power});
}
// ONNX compares neither bools nor uint8 by size.
Id ordered(const Several& s, const char* op) {
  if (s.r[s.of[0]].dtype != kBool) return s.compare(op, s.of);
  return s.compare(op, {s.r.cast(s.of[0], kInt), s.r.cast(s.of[1], kInt)});
}
Id logical(const Several& s, const char* op) {
  return s.compare(op, {s.r.cast(s.of[0], kBool), s.r.cast(s.of[1], kBool)});
}
Id magnitude(const Several& s) { return s.r.add("Abs", {s.of[0]}); }

const Translations kSeveral = {
    PAIR("add", sum(s)),
    PAIR("mul", s.add(s.is_bool() ? "And" : "Mul")),
    PAIR("div", quotient(s, call)),
    PAIR("fmod", s.add("Mod", s.of, {{"fmod", int64_t{1}}})),
    PAIR("remainder", s.is_integer() ? s.add("Mod") : s.call("remainder")),
    PAIR("floor_divide", floor_quotient(s)),
    PAIR("pow", s.add("Pow")),
    PAIR("maximum", s.add("Max")),
    PAIR("minimum", s.add("Min")),
    PAIR("atan2", s.call("atan2")),
    PAIR("hypot", s.call("hypot")),
    PAIR("bitwise_and", bitwise(s, "And", "BitwiseAnd")),
    PAIR("bitwise_or", bitwise(s, "Or", "BitwiseOr")),
    PAIR("bitwise_xor", bitwise(s, "Xor", "BitwiseXor")),
    PAIR("bitwise_left_shift", s.add("Mul", {s.of[0], power_of_two(s)})),
    PAIR("bitwise_right_shift", right_shift(s)),
    PAIR("eq", s.compare("Equal", s.of)),
    PAIR("ne", s.r.add("Not", {s.compare("Equal", s.of)})),
    PAIR("le", ordered(s, "LessOrEqual")),
    PAIR("gt", ordered(s, "Greater")),
    PAIR("ge", ordered(s, "GreaterOrEqual")),
    PAIR("logical_and", logical(s, "And")),
    PAIR("logical_or", logical(s, "Or")),
    PAIR("logical_xor", logical(s, "Xor")),
    PAIR("isfinite", s.compare("Less", {magnitude(s), s.of[1]})),
    PAIR("isinf", s.compare("Equal", {magnitude(s), s.of[1]})),
    TRIPLE("addcmul", s.add("Add", {s.of[0], s.add("Mul", {s.scaled(s.of[1]), s.of[2]})})),
    TRIPLE("addcdiv", s.add("Add", {s.of[0], s.add("Div", {s.scaled(s.of[1]), s.of[2]})})),
    TRIPLE("lerp", s.call("lerp")),
    TRIPLE("where", s.add("Where")),
};
#undef PAIR
#undef TRIPLE

// Integers below 0 that show the bytes of floating-point numbers: signbit.
void less(Recorder& r, const KernelCall& call) {
  const auto& a = argument<Operand>(call, 1);
  const Tensor numbers = a.tensor != nullptr ? r.as_stored(*a.tensor) : Tensor();
  if (!numbers.defined() || !numbers.is_floating_point())
    return several<1, 2>([](const Several& s, const KernelCall&) { return ordered(s, "Less"); })(r, call);
  r.write(tensor(call, 0), r.call("signbit", {r.read(numbers)}, {}, kBool, sizes_of(numbers)));
}

// ---- copies

void copy(Recorder& r, const KernelCall& call) {
  const Tensor &out = tensor(call, 0), &in = tensor(call, 1);
  r.write(out, r.expand(r.cast(r.read(in), out.scalar_type()), sizes_of(out)));
}
void fill(Recorder& r, const KernelCall& call) {
  const Tensor& out = tensor(call, 0);
  r.write(out, r.filled(argument<Scalar>(call, 1), out.scalar_type(), sizes_of(out)));
}

}  // namespace

Translations pointwise_translations() {
  Translations list{{"lt", less}, {"copy", copy}, {"fill", fill}};
  for (const Elementwise& each : elementwise_operations()) list[each.name] = elementwise;
  list.insert(kUnary.begin(), kUnary.end());
  list.insert(kSeveral.begin(), kSeveral.end());
  return list;
}

}  // namespace tandem::onnx::exporter
