// Options of AdaptiveLogSoftmaxWithLoss.
#pragma once
#include <vector>

#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

struct AdaptiveLogSoftmaxWithLossOptions {
  AdaptiveLogSoftmaxWithLossOptions(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
      : in_features_(in_features), n_classes_(n_classes), cutoffs_(std::move(cutoffs)) {}
  TANDEM_ARG(int64_t, in_features);
  TANDEM_ARG(int64_t, n_classes);
  /// The first class of every cluster, increasing.
  TANDEM_ARG(std::vector<int64_t>, cutoffs);
  /// Cluster i is projected to in_features / div_value^(i + 1) features.
  TANDEM_ARG(double, div_value) = 4.0;
  TANDEM_ARG(bool, head_bias) = false;
};

}  // namespace tandem::nn
