// The line search of LBFGS.
#pragma once
#include <functional>

#include "tandem/core/tensor.h"

namespace tandem::optim {

/// The loss at one length along the search direction, its flat gradient, and the product of both directions.
struct LinePoint {
  double t = 0;
  double loss = 0;
  Tensor gradient = {};
  double slope = 0;
};

/// A length that satisfies the strong Wolfe conditions with c1 = 1e-4 and c2 = 0.9, or the best found in about
/// `most` evaluations. `evaluate(t)` evaluates a length, `first` is the first to try, `start` is the point at t = 0,
/// `largest` is the direction's largest absolute value. Adds the number of evaluations to `evaluations`.
LinePoint strong_wolfe(const std::function<LinePoint(double t)>& evaluate, double first, const LinePoint& start,
                       double largest, double tolerance_change, int64_t most, int64_t& evaluations);

}  // namespace tandem::optim
