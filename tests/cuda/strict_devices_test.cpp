// Elementwise operations: their formulas are one for both devices.
#include "tandem/tests/cuda/strict.h"

using namespace tandem;

TEST_CASE("strict: elementwise chains") {
  if (!is_strict_device()) return;
  for (const ScalarType type : {kFloat, kDouble, kBFloat16, kHalf})
    same([](const Tensors& x) { return (x[0].exp() * x[1].tanh() / (x[0].square() + 1)).sigmoid(); },
         {randn({33, 70}).to(type), randn({70}).to(type)});
}
