// Inputs, and comparisons with PyTorch's values, for the tests of layers.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "tandem/tandem.h"

namespace tandem::testing {

/// 0, 1, 2, … in the given shape.
inline Tensor count(IntArrayRef sizes) { return arange(checked_numel(sizes), kFloat).view(sizes); }
inline Tensor row(const std::vector<double>& values) { return tensor(values).to(kFloat); }
inline Tensor longs(std::vector<int64_t> values) { return tensor(values); }
/// sin(step i) for element i.
inline Tensor wave(IntArrayRef sizes, double step = 0.7) {
  return (arange(checked_numel(sizes), kDouble) * step).sin().view(sizes);
}
inline bool near(double a, double b) { return std::abs(a - b) < 1e-8; }
/// Whether a starts with these values.
inline bool near(const Tensor& a, const std::vector<double>& values) {
  return allclose(a.detach().reshape({-1}).narrow(0, 0, static_cast<int64_t>(values.size())), row(values), 1e-4, 1e-5);
}
/// Checks the sum of t, and that of t with the weights cos(i).
inline bool sums_are(const Tensor& t, double sum, double weighted) {
  const Tensor flat = t.detach().to(kDouble).reshape({-1});
  const double a = flat.sum().item<double>(), b = (flat * arange(flat.numel(), kDouble).cos()).sum().item<double>();
  INFO("sums ", a, " ", b);
  CHECK(near(a, sum));
  CHECK(near(b, weighted));
  return true;
}
/// Backward with the gradient wave(…, 1.1).
inline void pull(const Tensor& out) { (out * wave(out.sizes(), 1.1)).sum().backward(); }
template <class Holder>
std::string text(const Holder& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

}  // namespace tandem::testing
