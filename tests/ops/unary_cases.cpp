// Elementwise functions of one tensor, and of a tensor and a number.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/pointwise_table.h"

namespace tandem::testing {
namespace {

using Cases = std::vector<std::vector<InputSpec>>;

Cases in(double low, double high) {
  return {
      {real({3, 4}, low, high)}, {real({7}, low, high)}, {real({}, low, high)}, {real({0, 3}, low, high)}};
}
const Cases kEverywhere = in(-2, 2), kAroundOne = in(0.75, 1.3),
            kApart = {{distinct({3, 5})}, {distinct({})}, {distinct({0, 2})}};

// An expression in x, and its Python equivalent in x0.
#define CASE(name, torch, expression, cases) \
  list.push_back(op(                         \
      name, torch,                           \
      [](const Tensors& in) {                \
        const Tensor& x = in[0];             \
        return expression;                   \
      },                                     \
      cases))

void with_numbers(std::vector<OpTest>& list) {
  CASE("pow 0", "x0 ** 0", pow(x, 0), kEverywhere);
  CASE("pow 2", "x0 ** 2", x.pow(2), kEverywhere);
  CASE("pow 3", "x0 ** 3", x.pow(3), kEverywhere);
  CASE("pow 0.5", "x0 ** 0.5", x.pow(0.5), in(0.2, 3));
  CASE("pow -1.5", "x0 ** -1.5", x.pow(-1.5), in(0.4, 3));
  CASE("scalar pow", "2.5 ** x0", pow(Scalar(2.5), x), kEverywhere);
  CASE("add number", "x0 + 3", x + 3, kAroundOne);
  CASE("sub number", "x0 - 3", x - 3, kEverywhere);
  CASE("rsub number", "2 - x0", 2 - x, kEverywhere);
  CASE("mul number", "x0 * 2.5", x * 2.5, kAroundOne);
  CASE("div number", "x0 / 3", x / 3, kEverywhere);
  CASE("number div", "3 / x0", 3 / x, in(0.4, 3));
  CASE("fmod number", "torch.fmod(x0, 0.7)", fmod(x, 0.7), kAroundOne);
  CASE("remainder number", "torch.remainder(x0, 0.7)", remainder(x, 0.7), kAroundOne);
  CASE("remainder of a negative number", "torch.remainder(x0, -0.7)", remainder(x, -0.7), in(0.8, 1.3));
  CASE("where positive", "torch.where(x0 > 0, x0, 5.)", where(x > 0, x, 5.0), kApart);
  CASE("where not positive", "torch.where(x0 > 0, 5., x0)", where(x > 0, 5.0, x), kApart);
  CASE("masked_fill positive", "x0.masked_fill(x0 > 0, 7)", masked_fill(x, x > 0, 7), kApart);
}

void of_integers(std::vector<OpTest>& list) {
  for (const ScalarType type : {kLong, kByte, kInt, kShort, kChar}) {
    const Cases cases = {{integers({3, 4}, 1, 50, type)}};
    const auto give = [&](const char* name, const char* torch, Tensor (*f)(const Tensor&)) {
      list.push_back(without_gradient(op(
          concat(name, " of ", tandem::name(type)), torch, [f](const Tensors& x) { return f(x[0]); },
          cases)));
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
  with_numbers(list);
  of_integers(list);
  return list;
}

}  // namespace tandem::testing
