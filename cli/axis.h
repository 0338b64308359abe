// Axes of plots: round numbers that enclose the values.
#pragma once
#include <cmath>
#include <string>
#include <vector>

namespace tandem::cli {

struct Axis {
  double low = 0, high = 1;   ///< the ends, both ticks
  std::vector<double> ticks;  ///< ascending, steps of 1, 2 or 5 times a power of ten
  int decimals = 0;           ///< of every label
  std::string label(double tick) const;
};

/// What no value can pass, so that no room is given beyond it: 100 % of accuracy.
struct AxisLimits {
  double least = -INFINITY, most = INFINITY;
};

/// False for what is not finite, and for values of a run that diverges, next to which all others would
/// vanish.
bool can_be_drawn(double value);

/// Encloses the finite values with at most `most_ticks` (3 or more) ticks. Values that are all equal, or
/// none, get some room around them, within the limits (which must be round numbers).
Axis make_axis(const std::vector<double>& values, int most_ticks, const AxisLimits& limits = {});

/// Whole numbers from 1 to `count`, at most `most_ticks` (2 or more) of them, the first and the last
/// included.
std::vector<int> count_ticks(int count, int most_ticks);

}  // namespace tandem::cli
