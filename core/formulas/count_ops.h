// Random counts, for host and device: how many events happen, or how many trials succeed.
//
// Element i of a draw reads the Philox blocks i + 2^40 k for k = 0, 1, … until a proposal is accepted.
#pragma once
#include <cmath>

#include "tandem/core/formulas/math.h"
#include "tandem/core/formulas/random_math.h"
#include "tandem/core/formulas/special_math.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/random/philox.h"

namespace tandem::ops {

/// Pairs of uniform numbers for one element.
class UniformPairs {
 public:
  TANDEM_HD UniformPairs(const Generator::Draw& draw, int64_t element)
      : draw_(draw), block_(static_cast<uint64_t>(element)) {}
  /// u in [0, 1), v in (0, 1].
  TANDEM_HD void next(double& u, double& v) {
    const PhiloxBlock block = philox(draw_.seed, draw_.offset, block_);
    u = uniform_double(block.word[0], block.word[1]);
    v = 1 - uniform_double(block.word[2], block.word[3]);
    block_ += uint64_t{1} << 40;
  }
  /// v of the next pair.
  TANDEM_HD double next() {
    double u, v;
    next(u, v);
    return v;
  }

 private:
  Generator::Draw draw_;
  uint64_t block_;
};

/// The number of events of a Poisson process with this rate. Below 10: D. Knuth's product of uniform numbers; otherwise
/// PTRS of W. Hörmann, The transformed rejection method for generating Poisson random variables (1993).
TANDEM_HD inline double poisson(double rate, UniformPairs random) {
  double u, v;
  if (!(rate > 0)) return rate;  // 0 or NaN
  if (rate < 10) {
    const double least = math::exp(-rate);
    double product = 1;
    for (double k = 0;; k += 2) {
      random.next(u, v);
      if ((product *= v) <= least) return k;
      if ((product *= 1 - u) <= least) return k + 1;
    }
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accepted = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    random.next(u, v);
    const double x = u - 0.5, s = 0.5 - std::fabs(x);
    const double k = std::floor((2 * a / s + b) * x + rate + 0.43);
    if (s >= 0.07 && v <= accepted) return k;
    if (k < 0 || (s < 0.013 && v > s)) continue;
    if (math::log(v * inverse_alpha / (a / (s * s) + b)) <= k * math::log(rate) - rate - special_math::lgamma(k + 1))
      return k;
  }
}

/// The number of successes in n trials of probability p <= 1/2. With few expected: waiting times between successes;
/// otherwise BTRS of W. Hörmann, The generation of binomial random variates (1993).
template <class Random>
TANDEM_HD inline double binomial_half(double n, double p, Random random) {
  if (n * p < 10) {
    const double failure = math::log1p(-p);
    double trials = 0;
    for (double k = 0;; ++k) {
      trials += std::fmax(std::ceil(random_math::log(random.next()) / failure), 1.0);
      if (!(trials <= n)) return k;
    }
  }
  const double spread = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * spread;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p, accepted = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * spread, m = std::floor((n + 1) * p);
  const double most = special_math::lgamma(m + 1) + special_math::lgamma(n - m + 1), odds = math::log(p / (1 - p));
  for (;;) {
    double u, v;
    random.next(u, v);
    const double x = u - 0.5, s = 0.5 - std::fabs(x);
    const double k = std::floor((2 * a / s + b) * x + n * p + 0.5);
    if (k < 0 || k > n) continue;
    if (s >= 0.07 && v <= accepted) return k;
    if (math::log(v * alpha / (a / (s * s) + b)) <=
        most - special_math::lgamma(k + 1) - special_math::lgamma(n - k + 1) + (k - m) * odds)
      return k;
  }
}
template <class Random>
TANDEM_HD inline double binomial(double n, double p, const Random& random) {
  if (n != n || p != p) return n + p;
  if (n <= 0 || p <= 0) return 0;
  if (p >= 1) return n;
  return p <= 0.5 ? binomial_half(n, p, random) : n - binomial_half(n, 1 - p, random);
}

}  // namespace tandem::ops
