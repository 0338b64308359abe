// What the normalising operations and layers share about statistics of a batch and running ones. For their
// sources only.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// Of each channel [C], over `count` values.
struct BatchStatistics {
  Tensor mean, variance;  // biased
  int64_t count = 0;
  /// What the variance is multiplied by.
  double unbiased() const {
    return count > 1 ? static_cast<double>(count) / static_cast<double>(count - 1) : 1;
  }
};

/// batch_norm without an update of the running statistics; gives those that it used.
Tensor normalize_channels(const Tensor& input, const Tensor& weight, const Tensor& bias,
                          const Tensor& running_mean, const Tensor& running_var, bool training, double eps,
                          BatchStatistics* statistics);
/// running = (1 - momentum) running + momentum factor batch
void track(Tensor& running, const Tensor& batch, double momentum, double factor);
/// batch_norm that counts its batches in `batches`, where defined. Without a momentum, which needs the count,
/// the running statistics are plain means over the batches.
Tensor batch_norm_tracked(const Tensor& input, const Tensor& weight, const Tensor& bias,
                          const Tensor& running_mean, const Tensor& running_var, const Tensor& batches,
                          bool training, optional<double> momentum, double eps);

}  // namespace tandem::autograd
