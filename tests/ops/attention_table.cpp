// Describes attention.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using Cases = std::vector<std::vector<InputSpec>>;

const Cases kHeads = {{real({2, 3, 5, 4}), real({2, 3, 6, 4}), real({2, 3, 6, 2})}};

}  // namespace

std::vector<Operation> attention_operations() {
  return {
      {OPERATION(scaled_dot_product_attention, T(CT, CT, CT, CT, double, bool, optional<double>, bool)),
       .torch = "lambda q, k, v, m, p, c, s, g: F.scaled_dot_product_attention(q, k, v, m, p, c, scale=s, "
                "enable_gqa=g)",
       .examples = {{"attention", "x0, x1, x2, None, 0.0, False, None, False", kHeads},
                    {"attention causal", "x0, x1, x2, None, 0.0, True, None, False", kHeads},
                    {"attention scale", "x0, x1, x2, None, 0.0, False, 0.7, False", kHeads},
                    {"attention mask",
                     "x0, x1, x2, x3, 0.0, False, None, False",
                     {{real({2, 3, 5, 4}), real({2, 3, 6, 4}), real({2, 3, 6, 2}), real({5, 6})}}},
                    {"attention numbers",
                     "x0, x1, x2, x3, 0.0, False, None, False",
                     {{real({3, 5, 4}), real({3, 6, 4}), real({3, 6, 2}), constant({1, 6}, -1, 1)}}},
                    {"attention visible",
                     "x0, x1, x2, x3, 0.0, False, None, False",
                     {{real({2, 3, 5, 4}), real({2, 3, 6, 4}), real({2, 3, 6, 2}), booleans({2, 1, 5, 6})}}},
                    {"attention groups",
                     "x0, x1, x2, None, 0.0, False, None, True",
                     {{real({1, 4, 3, 2}), real({1, 2, 5, 2}), real({1, 2, 5, 3})}}},
                    {"attention groups causal",
                     "x0, x1, x2, None, 0.0, True, None, True",
                     {{real({2, 4, 5, 3}), real({2, 2, 3, 3}), real({2, 2, 3, 4})}}},
                    {"attention of wide heads",
                     "x0, x1, x2, None, 0.0, True, None, False",
                     {{real({1, 1, 3, 66}), real({1, 1, 4, 66}), real({1, 1, 4, 5})}}},
                    {"attention matrices",
                     "x0, x1, x2, None, 0.0, False, None, False",
                     {{real({5, 4}), real({6, 4}), real({6, 2})}}}}},
  };
}

}  // namespace tandem::testing
