// Axes of plots: round numbers that enclose the values.
#pragma once
#include <cmath>
#include <string>
#include <vector>

namespace tandem::cli {

struct Axis {
  double low = 0, high = 1;   ///< the ends, which are ticks
  std::vector<double> ticks;  ///< ascending, steps of 1, 2 or 5 times a power of ten
  int decimals = 0;           ///< decimal places of the labels
  std::string label(double tick) const;
};

/// Limits that no value can exceed (accuracy: 100 %), so the axis is not padded beyond them.
struct AxisLimits {
  double least = -INFINITY, most = INFINITY;
};

/// False for values that are not finite, and for huge values of a diverging run, next to which all others
/// would vanish.
bool can_be_drawn(double value);

/// Encloses the finite values with at most `max_ticks` (3 or more) ticks. If the values are all equal, or if
/// there are none, the axis is padded around them, within the limits (which must be round numbers).
Axis make_axis(const std::vector<double>& values, int max_ticks, const AxisLimits& limits = {});

/// Whole numbers from 1 to `count`, at most `max_ticks` (2 or more) of them, the first and the last
/// included.
std::vector<int> count_ticks(int count, int max_ticks);

}  // namespace tandem::cli
