// Counts of values in buckets whose limits are those of TensorFlow and of PyTorch's SummaryWriter: the powers of 1.1
// from 1e-12 to 1e20, their negatives, and 0.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::tensorboard {

struct Histogram {
  double min = 0, max = 0, count = 0, sum = 0, sum_squares = 0;
  /// Bucket i holds the values from limits[i - 1], included, to limits[i]. Empty buckets at the ends are left out,
  /// except the one that has the lower limit of the first value.
  std::vector<double> limits, counts;
};

/// Of all finite values of a real tensor of any shape and device; count is 0 if it has none.
/// Throws Error on complex values.
Histogram histogram_of(const Tensor& values);

}  // namespace tandem::tensorboard
