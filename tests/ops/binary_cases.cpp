// Elementwise functions of two tensors.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/pointwise_table.h"

namespace tandem::testing {
namespace {

/// Promotion, and integers with numbers.
void of_integers(std::vector<OpTest>& list, ScalarType type) {
  const std::string type_name(name(type));
  const auto give = [&](const std::string& rest, const char* torch, auto f, std::vector<std::vector<InputSpec>> cases) {
    list.push_back(without_gradient(op(type_name + rest, torch, f, std::move(cases))));
  };
  const InputSpec x = integers({3, 4}, 1, 9, type);
  const auto sum = [](const Tensors& in) { return in[0] + in[1]; };
  for (const ScalarType other : {kLong, kShort, kByte})
    give(concat(" + ", name(other)), "x0 + x1", sum,
         {{x, integers({4}, 1, 9, other)}, {integers({3}, 1, 9, type), integers({}, 1, 9, other)}});
  give(" / int64", "x0 / x1", [](const Tensors& in) { return in[0] / in[1]; }, {{x, integers({4}, 1, 9)}});
  give(" * real", "x0 * x1", [](const Tensors& in) { return in[0] * in[1]; }, {{x, constant({4})}, {x, constant({})}});
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
  for (const ScalarType type : {kLong, kInt, kShort, kChar, kByte}) of_integers(list, type);
  return list;
}

}  // namespace tandem::testing
