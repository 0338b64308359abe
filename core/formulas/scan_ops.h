// What running sums, log-sums and extremes have in common on host and device.
#pragma once
#include <cmath>

#include "tandem/core/base/host_device.h"
#include "tandem/core/element_types.h"
#include "tandem/core/formulas/math.h"

namespace tandem::ops {

using ScanTypes = TypeList<float, double, int64_t>;
/// The type of a running sum.
template <class T>
using Running = std::conditional_t<std::is_same_v<T, float>, double, T>;

/// log(e^a + e^b) without overflow; infinities are exact.
TANDEM_HD inline double log_add_exp(double a, double b) {
  const double most = a > b || a != a ? a : b, least = a > b || a != a ? b : a;
  if (most == least && std::isinf(most)) return most;
  return most + math::log1p(math::exp(least - most));
}

/// Whether the later element x takes the place of the extreme element so far.
template <class T>
TANDEM_HD inline bool extends(T best, T x, bool smallest) {
  return x != x || (best == best && (smallest ? x <= best : x >= best));
}

}  // namespace tandem::ops
