// A leaf for the tests of the tape.
#pragma once
#include <vector>

#include "tandem/autograd/ops/factories/factories.h"

namespace tandem::testing {

/// float64, all elements equal, requires a gradient.
inline Tensor leaf(double value, std::vector<int64_t> sizes = {2}) {
  return full(sizes, value, TensorOptions(kDouble).requires_grad(true));
}

}  // namespace tandem::testing
