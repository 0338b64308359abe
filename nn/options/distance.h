// Options of distances and of normalize.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

struct CosineSimilarityOptions {
  TANDEM_ARG(int64_t, dim) = 1;
  TANDEM_ARG(double, eps) = 1e-8;
};
struct PairwiseDistanceOptions {
  TANDEM_ARG(double, p) = 2.0;
  TANDEM_ARG(double, eps) = 1e-6;
  TANDEM_ARG(bool, keepdim) = false;
};

namespace functional {
using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;
struct NormalizeFuncOptions {
  TANDEM_ARG(double, p) = 2.0;
  TANDEM_ARG(int64_t, dim) = 1;
  TANDEM_ARG(double, eps) = 1e-12;
  /// Receives the result, which then has no gradient.
  TANDEM_ARG(optional<Tensor>, out) = nullopt;
};
}  // namespace functional

}  // namespace tandem::nn
