// The line search of LBFGS: bracketing and zoom with cubic interpolation.
#include "tandem/nn/optim/lbfgs_line_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tandem::optim {
namespace {

constexpr double kC1 = 1e-4, kC2 = 0.9;

// The minimum of the cubic through two points with their slopes, within [low, high] (Nocedal and Wright, 3.59).
double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high) {
  const bool ordered = a.t <= b.t;
  const LinePoint &left = ordered ? a : b, &right = ordered ? b : a;
  const double d1 = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.t - right.t);
  const double square = d1 * d1 - left.slope * right.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double t = right.t - (right.t - left.t) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  return std::min(std::max(t, low), high);
}

bool decreases(const LinePoint& p, const LinePoint& start) { return !(p.loss > start.loss + kC1 * p.t * start.slope); }
bool is_flat(const LinePoint& p, const LinePoint& start) { return std::abs(p.slope) <= -kC2 * start.slope; }

struct Bracket {
  LinePoint low, high;  // low has the smaller loss; equal if the search has ended
  int64_t used = 0;
  bool done = false;
  bool reversed = false;  // whether high came before low

  // Of two points with the same loss, the first one counts as the lower, as in PyTorch.
  void sort() {
    if (reversed ? high.loss <= low.loss : !(low.loss <= high.loss)) {
      std::swap(low, high);
      reversed = !reversed;
    }
  }
};

// Extends the step until an interval contains a point that satisfies the conditions.
Bracket bracket(const std::function<LinePoint(double)>& evaluate, double first, const LinePoint& start, int64_t most,
                int64_t& evaluations) {
  LinePoint previous = start, now = evaluate(first);
  ++evaluations;
  for (int64_t used = 0; used < most; ++used) {
    if (!decreases(now, start) || (used > 1 && now.loss >= previous.loss)) return {previous, now, used};
    if (is_flat(now, start)) return {now, now, used, true};
    if (now.slope >= 0) return {previous, now, used};
    const double low = now.t + 0.01 * (now.t - previous.t), high = now.t * 10;
    const double next = cubic_minimum(previous, now, low, high);
    previous = std::move(now);
    now = evaluate(next);
    ++evaluations;
  }
  return {start, now, most};
}

}  // namespace

LinePoint strong_wolfe(const std::function<LinePoint(double t)>& evaluate, double first, const LinePoint& start,
                       double largest, double tolerance_change, int64_t most, int64_t& evaluations) {
  Bracket b = bracket(evaluate, first, start, most, evaluations);
  if (b.done) return b.low;
  b.sort();
  bool near_end = false;  // whether the last length was close to an end of the interval
  for (int64_t used = b.used; used < most; ++used) {
    const double left = std::min(b.low.t, b.high.t), right = std::max(b.low.t, b.high.t);
    if ((right - left) * largest < tolerance_change) break;
    double t = cubic_minimum(b.low, b.high, left, right);
    // Without progress inside the interval, a tenth of it is cut off.
    const double margin = 0.1 * (right - left);
    if (std::min(right - t, t - left) < margin) {
      if (near_end || t >= right || t <= left) {
        t = std::abs(t - right) < std::abs(t - left) ? right - margin : left + margin;
        near_end = false;
      } else {
        near_end = true;
      }
    } else {
      near_end = false;
    }
    LinePoint now = evaluate(t);
    ++evaluations;
    if (!decreases(now, start) || now.loss >= b.low.loss) {
      b.high = std::move(now);
      b.sort();
      continue;
    }
    const bool done = is_flat(now, start);
    if (!done && now.slope * (b.high.t - b.low.t) >= 0) b.high = b.low;
    b.low = std::move(now);
    if (done) break;
  }
  return b.low;
}

}  // namespace tandem::optim
