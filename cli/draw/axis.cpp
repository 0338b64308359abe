// Axis steps are 1, 2 or 5 times a power of ten.
#include "tandem/cli/draw/axis.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/base/number_text.h"

namespace tandem::cli {
namespace {

// Steps in ascending order: 1, 2, 5, 10, 20 … times 10^exponent.
double step_at(int index) {
  const double mantissa[] = {1, 2, 5};
  const int exponent = index >= 0 ? index / 3 : (index - 2) / 3;
  return mantissa[index - 3 * exponent] * std::pow(10.0, exponent);
}

}  // namespace

std::string Axis::label(double tick) const { return number_text(tick == 0 ? 0.0 : tick, 'f', decimals); }

bool can_be_drawn(double value) { return std::isfinite(value) && std::abs(value) <= 1e15; }

Axis make_axis(const std::vector<double>& values, int max_ticks, const AxisLimits& limits) {
  double low = INFINITY, high = -INFINITY;
  for (double value : values) {
    if (!can_be_drawn(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) low = 0, high = 1;
  const double least_span = std::max(std::abs(high) * 1e-3, 1e-6);
  if (high - low < least_span) {
    low -= least_span / 2, high += least_span / 2;
    if (high > limits.most) low -= high - limits.most, high = limits.most;
    if (low < limits.least) high += limits.least - low, low = limits.least;
  }
  max_ticks = std::max(max_ticks, 3);

  int index = 3 * static_cast<int>(std::floor(std::log10((high - low) / max_ticks)));
  double step, first, last;
  do {
    step = step_at(index++);
    first = std::floor(low / step + 1e-9);
    last = std::ceil(high / step - 1e-9);
  } while (last - first + 1 > max_ticks);

  Axis axis;
  for (double i = first; i <= last; ++i) axis.ticks.push_back(i * step);
  axis.low = axis.ticks.front();
  axis.high = axis.ticks.back();
  axis.decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  return axis;
}

std::vector<int> count_ticks(int count, int max_ticks) {
  if (count <= 1) return {1};
  max_ticks = std::max(max_ticks, 2);
  int step = 1;
  for (int index = 2; (count - 1) / step + 2 > max_ticks && count > max_ticks; ++index)  // 5, 10, 20, 50 …
    step = static_cast<int>(step_at(index));
  std::vector<int> ticks{1};
  // Drop round ticks that are too close to the first or the last one.
  const int least = (step + 1) / 2;
  for (int tick = step == 1 ? 2 : step; tick < count; tick += step)
    if (tick - 1 >= least && count - tick >= least) ticks.push_back(tick);
  ticks.push_back(count);
  return ticks;
}

}  // namespace tandem::cli
