// Elementwise functions of one tensor, and of a tensor and a number.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/pointwise_table.h"

namespace tandem::testing {
namespace {

void of_integers(std::vector<OpTest>& list) {
  for (const ScalarType type : {kLong, kByte, kInt, kShort, kChar}) {
    const std::vector<std::vector<InputSpec>> cases = {{integers({3, 4}, 1, 50, type)}};
    const auto give = [&](const char* name, const char* torch, Tensor (*f)(const Tensor&)) {
      list.push_back(without_gradient(op(
          concat(name, " of ", tandem::name(type)), torch, [f](const Tensors& x) { return f(x[0]); }, cases)));
    };
    give("exp", "torch.exp(x0 % 5)", [](const Tensor& x) { return exp(x % 5); });
    give("sum", "x0.sum(0)", [](const Tensor& x) { return x.sum(0); });
    if (type != kByte) give("neg", "-x0", [](const Tensor& x) { return -x; });
  }
}

}  // namespace

std::vector<OpTest> unary_cases() {
  std::vector<OpTest> list;
  for (const UnaryFunction& f : unary_functions())
    for (OpTest& test : tests_of(f)) list.push_back(std::move(test));
  for (OpTest& test : tests_with_numbers()) list.push_back(std::move(test));
  of_integers(list);
  return list;
}

}  // namespace tandem::testing
