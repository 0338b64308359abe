// The weighted means of antialiased resizing.
#include "tandem/autograd/ops/nn/resize_windows.h"

#include <algorithm>
#include <cmath>

namespace tandem::autograd {
namespace {

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

double keys(double x) {
  x = std::abs(x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

}  // namespace

ResizeWindows resize_windows(int64_t from, int64_t begin, int64_t count, double step, bool cubic) {
  const double stretch = std::max(step, 1.0), support = (cubic ? 2.0 : 1.0) * stretch;
  ResizeWindows out;
  for (int64_t e = begin; e < begin + count; ++e) {
    const double center = (static_cast<double>(e) + 0.5) * step;
    const auto first = std::max(static_cast<int64_t>(center - support + 0.5), int64_t{0});
    const auto end = std::min(static_cast<int64_t>(center + support + 0.5), from);
    const std::size_t place = out.weights.size();
    double sum = 0;
    for (int64_t k = first; k < end; ++k) {
      const double x = (static_cast<double>(k) - center + 0.5) / stretch;
      out.weights.push_back(cubic ? keys(x) : triangle(x));
      sum += out.weights.back();
    }
    for (std::size_t k = place; k < out.weights.size(); ++k) out.weights[k] /= sum;
    out.first.push_back(first);
    out.count.push_back(end - first);
  }
  return out;
}

}  // namespace tandem::autograd
