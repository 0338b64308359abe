// Elementwise functions of two and three tensors.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/pointwise_table.h"

// An operation on x, its Python equivalent, and the inputs of one case.
#define CASE(name, torch, expression, ...) \
  list.push_back(op(name, torch, [](const Tensors& x) { return expression; }, {{__VA_ARGS__}}))

namespace tandem::testing {
namespace {

/// The third tensor in [low, high).
std::vector<std::vector<InputSpec>> triples(double low, double high) {
  return {{real({3, 4}), real({3, 4}), real({4}, low, high)},
          {real({2, 3}), real({2, 3}), real({2, 3}, low, high)},
          {real({3}), real({2, 1}), real({}, low, high)},
          {real({0, 3}), real({3}), real({1}, low, high)}};
}

void three(std::vector<OpTest>& list) {
  list.push_back(op(
      "lerp tensor", "torch.lerp(x0, x1, x2)", [](const Tensors& x) { return lerp(x[0], x[1], x[2]); },
      triples(0.05, 0.95)));
  list.push_back(op(
      "addcmul", "torch.addcmul(x0, x1, x2, value=0.5)",
      [](const Tensors& x) { return x[0].addcmul(x[1], x[2], 0.5); }, triples(-2, 2)));
  list.push_back(op(
      "addcmul 0.7", "torch.addcmul(x0, x1, x2, value=0.7)",
      [](const Tensors& x) { return addcmul(x[0], x[1], x[2], 0.7); }, triples(-2, 2)));
  list.push_back(op(
      "addcdiv", "torch.addcdiv(x0, x1, x2, value=0.5)",
      [](const Tensors& x) { return x[0].addcdiv(x[1], x[2], 0.5); }, triples(0.4, 3)));
  list.push_back(op(
      "addcdiv 0.7", "torch.addcdiv(x0, x1, x2, value=0.7)",
      [](const Tensors& x) { return addcdiv(x[0], x[1], x[2], 0.7); }, triples(0.4, 3)));
  list.push_back(op(
      "clamp three tensors", "torch.clamp(x0, x1, x2)",
      [](const Tensors& x) { return clamp(x[0], x[1], x[2]); }, triples(-2, 2)));
  list.push_back(op("clamp tensors", "torch.clamp(x0, x1, x2)",
                    [](const Tensors& x) { return x[0].clamp(x[1], x[2]); },
                    {{distinct({3, 4}), constant({4}, -0.7, -0.6), constant({4}, 0.6, 0.7)}}));
  CASE("clamp_ tensors", "torch.clamp(x0 * 1, x1, x2)", (x[0] * 1).clamp_(x[1], x[2]), real({3, 4}),
       real({4}, -0.5, -0.1), real({4}, 0.1, 0.5));
  list.push_back(op("where", "torch.where(x0, x1, x2)",
                    [](const Tensors& x) { return where(x[0], x[1], x[2]); },
                    {{booleans({3, 4}), real({3, 4}), real({4})}, {booleans({3, 1}), real({4}), real({})}}));
  list.push_back(op("masked_fill", "x0.masked_fill(x1, 2.5)",
                    [](const Tensors& x) { return x[0].masked_fill(x[1], 2.5); },
                    {{real({3, 4}), booleans({3, 4})}, {real({3, 4}), booleans({4})}}));
}

void two(std::vector<OpTest>& list) {
  const std::vector<std::vector<InputSpec>> pairs = {{real({3, 4}), real({3, 4})},
                                                     {real({2, 3}), real({2, 3})},
                                                     {real({2, 1}), real({3})},
                                                     {real({}), real({4})},
                                                     {real({0, 3}), real({3})}};
  list.push_back(op(
      "lerp", "torch.lerp(x0, x1, 0.3)", [](const Tensors& x) { return lerp(x[0], x[1], 0.3); }, pairs));
  list.push_back(op(
      "larger", "torch.where(x0 > x1, x0, x1)",
      [](const Tensors& x) { return where(x[0] > x[1], x[0], x[1]); }, pairs));
  CASE("prelu", "torch.where(x0 > 0, x0, x1[:, None] * x0)", prelu(x[0], x[1]), distinct({2, 3, 4}),
       real({3}));
}

/// Promotion, and integers with numbers.
void of_integers(std::vector<OpTest>& list, ScalarType type) {
  const std::string type_name(name(type));
  const auto give = [&](const std::string& rest, const char* torch, auto f,
                        std::vector<std::vector<InputSpec>> cases) {
    list.push_back(without_gradient(op(type_name + rest, torch, f, std::move(cases))));
  };
  const InputSpec x = integers({3, 4}, 1, 9, type);
  const auto sum = [](const Tensors& in) { return in[0] + in[1]; };
  for (const ScalarType other : {kLong, kShort, kByte})
    give(concat(" + ", name(other)), "x0 + x1", sum,
         {{x, integers({4}, 1, 9, other)}, {integers({3}, 1, 9, type), integers({}, 1, 9, other)}});
  give(" / int64", "x0 / x1", [](const Tensors& in) { return in[0] / in[1]; }, {{x, integers({4}, 1, 9)}});
  give(" * real", "x0 * x1", [](const Tensors& in) { return in[0] * in[1]; },
       {{x, constant({4})}, {x, constant({})}});
  give(" * 2.5", "x0 * 2.5", [](const Tensors& in) { return in[0] * 2.5; }, {{x}});
  give(" // 3", "torch.floor_divide(x0, 3)", [](const Tensors& in) { return floor_divide(in[0], 3); },
       {{integers({3, 4}, 0, 50, type)}});
  give(" % 7", "x0 % 7", [](const Tensors& in) { return in[0] % 7; },
       {{integers({3, 4}, type == kByte ? 0 : -50, 50, type)}});
}

}  // namespace

std::vector<OpTest> binary_cases() {
  std::vector<OpTest> list;
  for (const BinaryFunction& f : binary_functions()) {
    for (OpTest& test : tests_of(f)) list.push_back(std::move(test));
    if (f.drawn == "compared")
      list.push_back(without_gradient(op(f.name + " number", "torch." + f.name + "(x0, 1)",
                                         [&f](const Tensors& x) { return f.right(x[0], 1, {}); },
                                         {{integers({3, 4}, 0, 3)}, {booleans({4})}})));
  }
  two(list);
  three(list);
  for (const ScalarType type : {kLong, kInt, kShort, kChar, kByte}) of_integers(list, type);
  return list;
}

}  // namespace tandem::testing
