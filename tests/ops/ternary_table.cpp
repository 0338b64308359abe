// Describes elementwise operations on three tensors, comparisons of two as a whole, and dropout.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using Cases = std::vector<std::vector<InputSpec>>;

/// The third tensor in [low, high).
Cases triples(double low, double high) {
  return {{real({3, 4}), real({3, 4}), real({4}, low, high)},
          {real({2, 3}), real({2, 3}), real({2, 3}, low, high)},
          {real({3}), real({2, 1}), real({}, low, high)},
          {real({0, 3}), real({3}), real({1}, low, high)}};
}
const Cases kPairs = {{real({3, 4}), real({3, 4})},
                      {real({2, 3}), real({2, 3})},
                      {real({2, 1}), real({3})},
                      {real({}), real({4})},
                      {real({0, 3}), real({3})}};

std::vector<Operation> three() {
  return {
      {OPERATION(lerp, T(CT, CT, CS), T(CT, CT, CT)), WRITE(lerp, T(T, CT, CS), T(T, CT, CT)),
       .examples = {{"lerp", "x0, x1, 0.3", kPairs}, {"lerp tensor", "x0, x1, x2", triples(0.05, 0.95)}}},
      {OPERATION(addcmul, T(CT, CT, CT, CS)), WRITE(addcmul, T(T, CT, CT, CS)),
       .torch = "lambda x, a, b, v: torch.addcmul(x, a, b, value=v)",
       .examples = {{"addcmul", "x0, x1, x2, 0.5", triples(-2, 2)},
                    {"addcmul 0.7", "x0, x1, x2, 0.7", triples(-2, 2)}}},
      {OPERATION(addcdiv, T(CT, CT, CT, CS)), WRITE(addcdiv, T(T, CT, CT, CS)),
       .torch = "lambda x, a, b, v: torch.addcdiv(x, a, b, value=v)",
       .examples = {{"addcdiv", "x0, x1, x2, 0.5", triples(0.4, 3)},
                    {"addcdiv 0.7", "x0, x1, x2, 0.7", triples(0.4, 3)}}},
      {OPERATION(clamp, T(CT, CT, CT)), WRITE(clamp, T(T, CT, CT)),
       .examples = {{"clamp three tensors", "x0, x1, x2", triples(-2, 2)},
                    {"clamp tensors",
                     "x0, x1, x2",
                     {{distinct({3, 4}), constant({4}, -0.7, -0.6), constant({4}, 0.6, 0.7)}}}},
       .tests = {op("clamp_ tensors", "torch.clamp(x0 * 1, x1, x2)",
                    [](const Tensors& x) { return (x[0] * 1).clamp_(x[1], x[2]); },
                    {{real({3, 4}), real({4}, -0.5, -0.1), real({4}, 0.1, 0.5)}})}},
      {OPERATION(clamp_min, T(CT, CT)), WRITE(clamp_min, T(T, CT))},
      {OPERATION(clamp_max, T(CT, CT)), WRITE(clamp_max, T(T, CT))},
      {OPERATION(where, T(CT, CT, CT), T(CT, CT, CS), T(CT, CS, CT), T(CT, CS, CS)),
       .examples = {{"where",
                     "x0, x1, x2",
                     {{booleans({3, 4}), real({3, 4}), real({4})}, {booleans({3, 1}), real({4}), real({})}}}},
       .tests = {op(
           "larger", "torch.where(x0 > x1, x0, x1)", [](const Tensors& x) { return where(x[0] > x[1], x[0], x[1]); },
           kPairs)}},
      {OPERATION(masked_fill, T(CT, CT, CS), T(CT, CT, CT)), WRITE(masked_fill, T(T, CT, CS), T(T, CT, CT)),
       .examples = {{"masked_fill", "x0, x1, 2.5", {{real({3, 4}), booleans({3, 4})}, {real({3, 4}), booleans({4})}}}}},
  };
}

T dropped(T x, double p, bool train) { return dropout_(x, p, train); }
T feature_dropped(T x, double p, bool train) { return feature_dropout_(x, p, train); }
T alpha_dropped(T x, double p, bool train) { return alpha_dropout_(x, p, train); }
T feature_alpha_dropped(T x, double p, bool train) { return feature_alpha_dropout_(x, p, train); }
T rectified(CT x, CS lower, CS upper) { return rrelu(x, lower, upper); }
T rectify(T x, CS lower, CS upper) { return rrelu_(x, lower, upper); }

std::vector<Operation> others() {
  return {
      {OPERATION(prelu, T(CT, CT)), .torch = "F.prelu",
       .examples = {{"prelu", "x0, x1", {{distinct({2, 3, 4}), real({3})}}}}},
      {OPERATION(glu, T(CT, I)), .torch = "F.glu", .examples = {{"glu", "x0, 1", {{real({2, 4, 3})}}}}},
      {OPERATION(round, T(CT, I)), WRITE(round, T(T, I)), .torch = "lambda x, n: torch.round(x, decimals=n)"},
      {OPERATION(isclose, T(CT, CT, double, double, bool))},
      {OPERATION(allclose, bool(CT, CT, double, double, bool))},
      {OPERATION(equal, bool(CT, CT))},
      {OPERATION(result_type, ScalarType(CT, CT), ScalarType(CT, CS))},
      {OPERATION(dropout, T(CT, double, bool)), .in_place = GIVE(dropped, T(T, double, bool))},
      {OPERATION(alpha_dropout, T(CT, double, bool)), .in_place = GIVE(alpha_dropped, T(T, double, bool))},
      {OPERATION(feature_alpha_dropout, T(CT, double, bool)),
       .in_place = GIVE(feature_alpha_dropped, T(T, double, bool))},
      {.name = "rrelu",
       .overloads = GIVE(rectified, T(CT, CS, CS)),
       .in_place = GIVE(rectify, T(T, CS, CS)),
       .examples = {{"rrelu", "x0, 0.1, 0.3", {{distinct({3, 4})}}}}},
      {OPERATION(feature_dropout, T(CT, double, bool)), .in_place = GIVE(feature_dropped, T(T, double, bool))},
  };
}

}  // namespace

std::vector<Operation> ternary_operations() { return joined({three, others}); }

}  // namespace tandem::testing
