// Options of losses. reduction: kNone, kMean or kSum.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/nn/arg.h"
#include "tandem/nn/enums.h"

namespace tandem::nn {

struct CrossEntropyLossOptions {
  /// [classes]; undefined: all 1.
  TANDEM_ARG(Tensor, weight) = Tensor();
  /// A target of this value counts for nothing.
  TANDEM_ARG(int64_t, ignore_index) = -100;
  TANDEM_ARG(Reduction, reduction) = kMean;
  TANDEM_ARG(double, label_smoothing) = 0.0;
};
struct NLLLossOptions {
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(int64_t, ignore_index) = -100;
  TANDEM_ARG(Reduction, reduction) = kMean;
};
struct MSELossOptions {
  MSELossOptions(Reduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(Reduction, reduction);
};
struct L1LossOptions {
  L1LossOptions(Reduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(Reduction, reduction);
};
struct SmoothL1LossOptions {
  SmoothL1LossOptions(Reduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(Reduction, reduction);
  TANDEM_ARG(double, beta) = 1.0;
};
struct HuberLossOptions {
  HuberLossOptions(Reduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(Reduction, reduction);
  TANDEM_ARG(double, delta) = 1.0;
};
struct BCELossOptions {
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(Reduction, reduction) = kMean;
};
struct BCEWithLogitsLossOptions {
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(Reduction, reduction) = kMean;
  TANDEM_ARG(Tensor, pos_weight) = Tensor();
};
/// reduction: kBatchMean too.
struct KLDivLossOptions {
  KLDivLossOptions(Reduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(Reduction, reduction);
  TANDEM_ARG(bool, log_target) = false;
};

namespace functional {
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using MSELossFuncOptions = MSELossOptions;
using L1LossFuncOptions = L1LossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
using KLDivFuncOptions = KLDivLossOptions;
}  // namespace functional

}  // namespace tandem::nn
