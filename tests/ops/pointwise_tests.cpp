// The harness's tests of the functions of pointwise_table.h.
#include "tandem/tests/ops/pointwise_table.h"

#include "tandem/tests/ops/cases.h"

namespace tandem::testing {

std::string python(const Parameter& p) {
  return p.text ? concat("'", *p.text, "'") : p.number ? concat(*p.number) : "None";
}

namespace {

/// "torch.exp(x0)"
template <class F>
std::string expression(const F& f, const char* tensors, const Parameters& parameters) {
  std::string text = concat(torch_name(f), "(", tensors);
  for (const Parameter& p : parameters) text += concat(", ", f.keyword, f.keyword.empty() ? "" : "=", python(p));
  return text + ")";
}

std::vector<std::vector<InputSpec>> cases_of(const UnaryFunction& f) {
  if (f.types == Drawn::kIntegers) return {{integers({3, 4}, -20, 20)}, {booleans({5})}};
  std::vector<std::vector<InputSpec>> cases;
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{3, 4}, {2, 1, 5}, {7}, {}, {0}, {0, 3}, {3, 5}})
    cases.push_back({f.domain.distinct ? distinct(sizes) : real(sizes, f.domain.low, f.domain.high)});
  return cases;
}

template <class F>
std::vector<Variant> variants_of(const F& f) {
  return f.variants.empty() ? std::vector<Variant>{{f.name}} : f.variants;
}

using Cases = std::vector<std::vector<InputSpec>>;

Cases in(double low, double high) {
  return {{real({3, 4}, low, high)}, {real({7}, low, high)}, {real({}, low, high)}, {real({0, 3}, low, high)}};
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

}  // namespace

std::vector<OpTest> tests_of(const UnaryFunction& f) {
  const bool smooth = f.integers != Integers::kBecomeBool && f.types != Drawn::kIntegers;
  std::vector<OpTest> tests;
  for (const Variant& v : variants_of(f))
    tests.push_back({.name = v.name,
                     .torch = expression(f, "x0", v.parameters),
                     .fn = [&f, p = v.parameters](const Tensors& x) { return Tensors{f.function(x[0], p)}; },
                     .cases = cases_of(f),
                     .first_order = smooth,
                     .second_order = smooth,
                     .tolerance64 = f.tolerance64});
  return tests;
}

std::vector<OpTest> tests_of(const BinaryFunction& f) {
  std::vector<OpTest> tests;
  for (const Variant& v : variants_of(f))
    tests.push_back({.name = v.name,
                     .torch = expression(f, "x0, x1", v.parameters),
                     .fn = [&f, p = v.parameters](const Tensors& x) { return Tensors{f.function(x[0], x[1], p)}; },
                     .cases = f.cases,
                     .first_order = f.differentiable,
                     .second_order = f.differentiable});
  return tests;
}

std::vector<OpTest> tests_with_numbers() {
  std::vector<OpTest> list;
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
  return list;
}

}  // namespace tandem::testing
