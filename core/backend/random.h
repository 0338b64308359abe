// Random numbers. Element i of a draw depends only on (seed, offset, i), not on threads, device or size.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/random/generator.h"

namespace tandem {

namespace ops {
/// A Philox block to elements (random_ops.h).
using RandomOps = TypeList<struct Uniform, struct Normal, struct Exponential, struct Bernoulli, struct RandomInteger,
                           struct RandomWideInteger>;
}  // namespace ops

/// Parameters of a distribution; each op says which it reads.
struct RandomParameters {
  double a = 0, b = 0;
  int64_t base = 0;
  uint64_t range = 0;
};

/// out is row-major, with a dtype of the op's Types.
using FillRandomKernels =
    KernelArray<ops::RandomOps, void(const Tensor& out, const Generator::Draw& draw, const RandomParameters& p)>;

struct RandomKernels {
  const FillRandomKernels& fill;
  /// Samples column indices for each row of `weights` (float64 [rows, columns], row-major) into `out` (int64
  /// [rows, samples], row-major). Throws Error on a negative, infinite or NaN weight, on a row of zeros, and,
  /// without replacement, on a row with fewer positive weights than samples. With replacement, sample k is
  /// the column where the cumulative weights pass uniform number row samples + k. Without, it is the column
  /// of the k-th smallest -ln u / weight, with u being number row columns + column.
  Kernel<"multinomial", void(const Tensor& out, const Tensor& weights, bool replacement, const Generator::Draw& draw)>
      multinomial;
  /// out[i] = a number of events with the rate rates[i] >= 0, and the number of successes in counts[i] trials with
  /// probabilities[i]. All are float64 and row-major; NaN stays.
  Kernel<"poisson", void(const Tensor& out, const Tensor& rates, const Generator::Draw& draw)> poisson;
  Kernel<"binomial",
         void(const Tensor& out, const Tensor& counts, const Tensor& probabilities, const Generator::Draw& draw)>
      binomial;
};

}  // namespace tandem
