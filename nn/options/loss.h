// Options of losses. reduction: kNone, kMean or kSum.
#pragma once
#include <functional>

#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/enums.h"
#include "tandem/nn/options/option.h"

namespace tandem::nn {

struct CrossEntropyLossOptions {
  /// Class weights [classes]; undefined means all 1.
  TANDEM_ARG(Tensor, weight) = Tensor();
  /// Targets with this value are ignored.
  TANDEM_ARG(int64_t, ignore_index) = -100;
  TANDEM_ARG(Reduction, reduction) = kMean;
  TANDEM_ARG(double, label_smoothing) = 0.0;
};
struct NLLLossOptions {
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(int64_t, ignore_index) = -100;
  TANDEM_ARG(Reduction, reduction) = kMean;
};
TANDEM_OPTION(MSELossOptions, Reduction, reduction, = kMean);
TANDEM_OPTION(L1LossOptions, Reduction, reduction, = kMean);
struct SmoothL1LossOptions {
  SmoothL1LossOptions(Reduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(Reduction, reduction);
  /// nullopt: 1
  TANDEM_ARG(optional<double>, beta) = nullopt;
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
/// `reduction` may also be kBatchMean.
struct KLDivLossOptions {
  KLDivLossOptions(Reduction reduction = kMean) : reduction_(reduction) {}
  TANDEM_ARG(Reduction, reduction);
  TANDEM_ARG(bool, log_target) = false;
};

struct MarginRankingLossOptions {
  TANDEM_ARG(double, margin) = 0.0;
  TANDEM_ARG(Reduction, reduction) = kMean;
};
struct HingeEmbeddingLossOptions {
  TANDEM_ARG(double, margin) = 1.0;
  TANDEM_ARG(Reduction, reduction) = kMean;
};
struct CosineEmbeddingLossOptions {
  TANDEM_ARG(double, margin) = 0.0;
  TANDEM_ARG(Reduction, reduction) = kMean;
};
struct TripletMarginLossOptions {
  TANDEM_ARG(double, margin) = 1.0;
  TANDEM_ARG(double, p) = 2.0;
  TANDEM_ARG(double, eps) = 1e-6;
  TANDEM_ARG(bool, swap) = false;
  TANDEM_ARG(Reduction, reduction) = kMean;
};
TANDEM_OPTION(SoftMarginLossOptions, Reduction, reduction, = kMean);
struct MultiMarginLossOptions {
  TANDEM_ARG(int64_t, p) = 1;
  TANDEM_ARG(double, margin) = 1.0;
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(Reduction, reduction) = kMean;
};
struct MultiLabelSoftMarginLossOptions {
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(Reduction, reduction) = kMean;
};
struct PoissonNLLLossOptions {
  TANDEM_ARG(bool, log_input) = true;
  TANDEM_ARG(bool, full) = false;
  TANDEM_ARG(double, eps) = 1e-8;
  TANDEM_ARG(Reduction, reduction) = kMean;
};
TANDEM_OPTION(MultiLabelMarginLossOptions, Reduction, reduction, = kMean);
struct TripletMarginWithDistanceLossOptions {
  using reduction_t = Reduction;
  using distance_function_t = std::function<Tensor(const Tensor&, const Tensor&)>;
  /// pairwise_distance if not given.
  TANDEM_ARG(optional<distance_function_t>, distance_function) = nullopt;
  TANDEM_ARG(Reduction, reduction) = kMean;
  TANDEM_ARG(double, margin) = 1.0;
  TANDEM_ARG(bool, swap) = false;
};
struct CTCLossOptions {
  TANDEM_ARG(int64_t, blank) = 0;
  TANDEM_ARG(Reduction, reduction) = kMean;
  /// Infinite losses, of inputs that are too short, and their gradients become 0.
  TANDEM_ARG(bool, zero_infinity) = false;
};

namespace functional {
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
using CTCLossFuncOptions = CTCLossOptions;
using MarginRankingLossFuncOptions = MarginRankingLossOptions;
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLossOptions;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
using SoftMarginLossFuncOptions = SoftMarginLossOptions;
using MultiMarginLossFuncOptions = MultiMarginLossOptions;
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLossOptions;
using PoissonNLLLossFuncOptions = PoissonNLLLossOptions;
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
