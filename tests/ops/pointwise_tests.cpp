// The harness's tests of the functions of pointwise_table.h.
#include "tandem/tests/ops/pointwise_table.h"

namespace tandem::testing {

std::string python(const Parameter& p) {
  return p.text ? concat("'", *p.text, "'") : p.number ? concat(*p.number) : "None";
}

namespace {

/// "torch.exp(x0)"
template <class F>
std::string expression(const F& f, const char* tensors, const Parameters& parameters) {
  std::string text = concat(torch_name(f), "(", tensors);
  for (const Parameter& p : parameters)
    text += concat(", ", f.keyword, f.keyword.empty() ? "" : "=", python(p));
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
    tests.push_back(
        {.name = v.name,
         .torch = expression(f, "x0, x1", v.parameters),
         .fn = [&f, p = v.parameters](const Tensors& x) { return Tensors{f.function(x[0], x[1], p)}; },
         .cases = f.cases,
         .first_order = f.differentiable,
         .second_order = f.differentiable});
  return tests;
}

}  // namespace tandem::testing
