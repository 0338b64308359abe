// Shared code of the normalisation operations and layers: statistics of a batch and running statistics.
// Internal to their sources.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// Statistics per channel [C], over `count` values each.
struct BatchStatistics {
  Tensor mean, variance;  // biased
  int64_t count = 0;
  /// The factor that turns the biased variance into the unbiased one.
  double unbiased() const { return count > 1 ? static_cast<double>(count) / static_cast<double>(count - 1) : 1; }
};

/// The form that the kernels take: [N, C, ...] as [N, C, S], and a channels-last tensor as [N S, C, 1], a matrix with a
/// column for each channel. Not recorded.
Tensor as_channels(const Tensor& t, MemoryFormat format);
/// batch_norm that does not update the running statistics; stores the statistics it used in `statistics`.
Tensor normalize_channels(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                          const Tensor& running_var, bool training, double eps, BatchStatistics* statistics);
/// running = (1 - momentum) running + momentum factor batch
void track(Tensor& running, const Tensor& batch, double momentum, double factor);
/// batch_norm that counts its batches in `batches`, if defined. Without a momentum, which requires the count,
/// the running statistics are plain means over the batches.
Tensor batch_norm_tracked(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                          const Tensor& running_var, const Tensor& batches, bool training, optional<double> momentum,
                          double eps);

}  // namespace tandem::autograd
