// Describes the elementwise functions of two tensors, or of a tensor and a number.
#include "tandem/tests/ops/pointwise_table.h"

#define CALL(f, ...) \
  .name = #f, .function = [](const Tensor& a, const Tensor& b, const Parameters& p) -> Tensor { return __VA_ARGS__; }
#define RIGHT(...) .right = [](const Tensor& a, const Scalar& b, const Parameters& p) -> Tensor { return __VA_ARGS__; }
#define LEFT(f) .left = [](const Scalar& a, const Tensor& b, const Parameters&) -> Tensor { return f(a, b); }
#define WRITE(...) .in_place = [](Tensor a, const Tensor& b, const Parameters& p) -> Tensor { return __VA_ARGS__; }
#define WRITE_RIGHT(...) \
  .in_place_right = [](Tensor a, const Scalar& b, const Parameters& p) -> Tensor { return __VA_ARGS__; }
// Without parameters.
#define TENSORS(f) \
  .name = #f, .function = [](const Tensor& a, const Tensor& b, const Parameters&) -> Tensor { return f(a, b); }
#define NUMBER(f) .right = [](const Tensor& a, const Scalar& b, const Parameters&) -> Tensor { return f(a, b); }
#define IN_PLACE(f) .in_place = [](Tensor a, const Tensor& b, const Parameters&) -> Tensor { return a.f##_(b); }
#define IN_PLACE_NUMBER(f) \
  .in_place_right = [](Tensor a, const Scalar& b, const Parameters&) -> Tensor { return a.f##_(b); }
#define ALL_FORMS(f) TENSORS(f), NUMBER(f), IN_PLACE(f), IN_PLACE_NUMBER(f)

namespace tandem::testing {
namespace {

using Cases = std::vector<std::vector<InputSpec>>;

/// Equal and broadcast shapes.
Cases between(double low, double high) {
  using Sizes = std::vector<int64_t>;
  Cases cases;
  for (const auto& [a, b] : std::vector<std::pair<Sizes, Sizes>>{
           {{3, 4}, {3, 4}}, {{3, 1}, {4}}, {{2, 1, 3}, {}}, {{0, 3}, {3}}, {{2, 3}, {2, 3}}, {{}, {4}}})
    cases.push_back({real(a, low, high), real(b, low, high)});
  return cases;
}
const Cases kAny = between(-2, 2), kAboveZero = between(0.4, 3);

Cases extremes() {
  Cases cases = kAny;
  cases.push_back({distinct({3, 4}), real({4}, -0.1, 0.1)});
  return cases;
}
const Cases kOneQuotient = {{real({3, 4}, 1.6, 1.9), constant({4}, 0.6, 0.75)},
                            {real({2, 3}, 2.2, 2.8), real({2, 3}, 0.95, 1.05)}},
            kOneNegativeQuotient = {{real({3, 4}, -1.9, -1.6), constant({4}, 0.6, 0.75)},
                                    {real({2, 3}, -2.8, -2.2), real({2, 3}, 0.95, 1.05)}},
            kQuotients = {{real({3, 4}), constant({4}, 0.6, 1.7)},
                          {real({2, 3}, -2.8, -2.2), real({2, 3}, 0.95, 1.05)}},
            kCompared = {{integers({3, 4}, 0, 3), integers({4}, 0, 3)}, {integers({5}, 0, 3, kByte), real({5}, 0, 3)}},
            kLogic = {{booleans({3, 4}), booleans({4})}, {integers({5}, 0, 2), booleans({5})}},
            kBits = {{integers({3, 4}, -20, 20), integers({4}, -20, 20)}, {booleans({5}), booleans({5})}},
            kShifts = {{integers({3, 4}, -20, 20), integers({4}, 0, 8)}},
            kLogarithm = {{real({3, 4}), real({3, 4}, 0.5, 2)}, {real({2, 1}), real({3}, 0.5, 2)}},
            kSigns = {{real({3, 4}), constant({4}, -1, 1)}};

std::vector<BinaryFunction> arithmetic() {
  return {
      {CALL(add, p.empty() ? a + b : add(a, b, p[0])), RIGHT(add(a, b, p[0])), WRITE(a.add_(b, p[0])),
       WRITE_RIGHT(a.add_(b, p[0])), .cases = kAny,
       .variants = {{"add"}, {"add alpha", {2.5}}, {"add alpha 0.5", {0.5}}}, .parameters = {"1, 1, 2, -3, 0.5"},
       .extremes = {{1}, {2}}, .keyword = "alpha"},
      {CALL(sub, p.empty() ? a - b : sub(a, b, p[0])), RIGHT(sub(a, b, p[0])), WRITE(a.sub_(b, p[0])),
       WRITE_RIGHT(a.sub_(b, p[0])), .cases = kAny, .variants = {{"sub"}, {"sub alpha", {3}}, {"sub alpha 0.5", {0.5}}},
       .parameters = {"1, 1, 2, -3, 0.5"}, .extremes = {{1}, {2}}, .keyword = "alpha"},
      {CALL(rsub, p.empty() ? rsub(a, b) : rsub(a, b, p[0])), RIGHT(rsub(a, b, p[0])), .cases = kAny,
       .variants = {{"rsub"}, {"rsub alpha", {0.5}}}, .parameters = {"1, 1, 2, -3, 0.5"}, .extremes = {{1}, {2}},
       .keyword = "alpha"},
      {ALL_FORMS(mul), .cases = kAny},
      {TENSORS(div), NUMBER(div), LEFT(div), IN_PLACE(div), IN_PLACE_NUMBER(div), .drawn = "nonzero",
       .cases = kAboveZero},
      {CALL(div, div(a, b, p[0].text)), RIGHT(div(a, b, p[0].text)), WRITE(a.div_(b, p[0].text)),
       WRITE_RIGHT(a.div_(b, p[0].text)), .drawn = "nonzero", .cases = kQuotients,
       .variants = {{"div trunc", {"trunc"}}, {"div floor", {"floor"}}}, .parameters = {"None, 'trunc', 'floor'"},
       .extremes = {{"trunc"}, {"floor"}}, .keyword = "rounding_mode"},
      {ALL_FORMS(floor_divide), .drawn = "nonzero", .cases = kQuotients, .differentiable = false},
      {ALL_FORMS(fmod), .drawn = "modulo", .cases = kOneQuotient},
      {TENSORS(remainder), NUMBER(remainder), LEFT(remainder), IN_PLACE(remainder), IN_PLACE_NUMBER(remainder),
       .drawn = "modulo", .cases = kOneNegativeQuotient},
      {TENSORS(pow), NUMBER(pow), LEFT(pow), IN_PLACE(pow), IN_PLACE_NUMBER(pow), .drawn = "power",
       .cases = kAboveZero},
      {TENSORS(float_power), NUMBER(float_power), .drawn = "root", .cases = kAboveZero},
      {TENSORS(maximum), .cases = extremes()},
      {TENSORS(minimum), .cases = extremes()},
      {TENSORS(fmax), .cases = extremes()},
      {TENSORS(fmin), .cases = extremes()},
      {TENSORS(atan2), IN_PLACE(atan2), .drawn = "legs", .cases = kAboveZero},
      {TENSORS(hypot), IN_PLACE(hypot), .drawn = "legs", .cases = kAboveZero},
      {ALL_FORMS(copysign), .drawn = "sign", .cases = kSigns},
      {TENSORS(xlogy), NUMBER(xlogy), LEFT(xlogy), IN_PLACE(xlogy), .drawn = "logarithm", .cases = kLogarithm},
      {TENSORS(logaddexp), .drawn = "finite", .cases = kAny},
      {TENSORS(logaddexp2), .drawn = "finite", .cases = kAny},
      {TENSORS(heaviside), .drawn = "constants", .cases = kSigns, .differentiable = false},
  };
}

std::vector<BinaryFunction> comparison() {
  return {
      {ALL_FORMS(eq), .drawn = "compared", .cases = kCompared, .differentiable = false},
      {ALL_FORMS(ne), .drawn = "compared", .cases = kCompared, .differentiable = false},
      {ALL_FORMS(lt), .drawn = "compared", .cases = kCompared, .differentiable = false},
      {ALL_FORMS(le), .drawn = "compared", .cases = kCompared, .differentiable = false},
      {ALL_FORMS(gt), .drawn = "compared", .cases = kCompared, .differentiable = false},
      {ALL_FORMS(ge), .drawn = "compared", .cases = kCompared, .differentiable = false},
      {TENSORS(logical_and), IN_PLACE(logical_and), .drawn = "logic", .cases = kLogic, .differentiable = false},
      {TENSORS(logical_or), IN_PLACE(logical_or), .drawn = "logic", .cases = kLogic, .differentiable = false},
      {TENSORS(logical_xor), IN_PLACE(logical_xor), .drawn = "logic", .cases = kLogic, .differentiable = false},
      {ALL_FORMS(bitwise_and), .drawn = "bits", .cases = kBits, .differentiable = false},
      {ALL_FORMS(bitwise_or), .drawn = "bits", .cases = kBits, .differentiable = false},
      {ALL_FORMS(bitwise_xor), .drawn = "bits", .cases = kBits, .differentiable = false},
      {ALL_FORMS(bitwise_left_shift), .drawn = "shift", .cases = kShifts, .differentiable = false},
      {ALL_FORMS(bitwise_right_shift), .drawn = "shift", .cases = kShifts, .differentiable = false},
  };
}

}  // namespace

const std::vector<BinaryFunction>& binary_functions() {
  static const std::vector<BinaryFunction> all = [] {
    std::vector<BinaryFunction> list = arithmetic();
    for (BinaryFunction& f : comparison()) list.push_back(std::move(f));
    return list;
  }();
  return all;
}

}  // namespace tandem::testing
