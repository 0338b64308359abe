// AdaptiveLogSoftmaxWithLoss.
#pragma once
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/module_list.h"
#include "tandem/nn/options/adaptive.h"

namespace tandem::nn {

/// The log-probability of every row's target, and the mean of their negatives.
struct ASMoutput {
  ASMoutput(Tensor output_, double loss_) : output(std::move(output_)), loss(loss_) {}
  Tensor output;
  double loss;
};

/// log_softmax over many classes, sorted by descending frequency: the head has the frequent classes and one entry for
/// each cluster of rarer ones (E. Grave et al.: Efficient softmax approximation for GPUs, 2017). input
/// [N, in_features], target int64 [N]; without a batch, [in_features] and [].
class AdaptiveLogSoftmaxWithLossImpl : public Cloneable<AdaptiveLogSoftmaxWithLossImpl> {
 public:
  AdaptiveLogSoftmaxWithLossImpl(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs_)
      : AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions(in_features, n_classes, std::move(cutoffs_))) {
  }
  /// Throws Error unless the cutoffs are positive, increasing and below n_classes.
  explicit AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions options);
  /// Reads the targets and the loss on the host. Throws Error for targets out of range.
  ASMoutput forward(const Tensor& input, const Tensor& target);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  /// [N, n_classes], from the head's output for the same input.
  Tensor _get_full_log_prob(const Tensor& input, const Tensor& head_output);
  /// [N, n_classes]
  Tensor log_prob(const Tensor& input);
  /// The most probable class of each row, [N].
  Tensor predict(const Tensor& input);

  AdaptiveLogSoftmaxWithLossOptions options;
  std::vector<int64_t> cutoffs;
  int64_t shortlist_size = 0, n_clusters = 0, head_size = 0;
  Linear head = nullptr;
  ModuleList tail = nullptr;
};
TANDEM_MODULE(AdaptiveLogSoftmaxWithLoss);

}  // namespace tandem::nn
