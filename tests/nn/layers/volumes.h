// Inputs and comparisons for the tests of layers on volumes: numbers computed with PyTorch 2.15 from the same inputs.
#pragma once
#include "tandem/tests/nn/layers/layer_testing.h"

namespace tandem::testing {

inline Tensor sines(IntArrayRef sizes, double step = 1) { return (count(sizes) * step).sin(); }
inline Tensor cosines(IntArrayRef sizes, double step = 1) { return (count(sizes) * step).cos(); }

/// Whether t has this shape, begins with `values` and has the given sum.
inline bool near(const Tensor& t, IntArrayRef sizes, const std::vector<double>& values, double sum) {
  if (t.sizes() != sizes) return false;
  const Tensor flat = t.detach().to(kDouble).reshape({-1});
  return allclose(flat.narrow(0, 0, static_cast<int64_t>(values.size())), tensor(values).to(kDouble), 1e-4, 2e-6) &&
         std::abs(flat.sum().item<double>() - sum) <= 1e-5 * static_cast<double>(flat.numel()) + 1e-6 * std::abs(sum);
}

}  // namespace tandem::testing
