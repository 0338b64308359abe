// Pairwise, triplet and margin losses as modules. See autograd/ops/loss/margin_loss.h for their equations.
#pragma once
#include "tandem/nn/layers/loss.h"

namespace tandem::nn {

TANDEM_LAYER(MarginRankingLoss, Loss, = {}, const Tensor& input1, const Tensor& input2, const Tensor& target);
TANDEM_MODULE(MarginRankingLoss);
TANDEM_LAYER(HingeEmbeddingLoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(HingeEmbeddingLoss);
TANDEM_LAYER(CosineEmbeddingLoss, Loss, = {}, const Tensor& input1, const Tensor& input2, const Tensor& target);
TANDEM_MODULE(CosineEmbeddingLoss);
TANDEM_LAYER(TripletMarginLoss, Loss, = {}, const Tensor& anchor, const Tensor& positive, const Tensor& negative);
TANDEM_MODULE(TripletMarginLoss);

class TripletMarginWithDistanceLossImpl
    : public detail::Loss<TripletMarginWithDistanceLossImpl, TripletMarginWithDistanceLossOptions> {
 public:
  explicit TripletMarginWithDistanceLossImpl(TripletMarginWithDistanceLossOptions options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(TripletMarginWithDistanceLoss);
TANDEM_LAYER(MultiLabelMarginLoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(MultiLabelMarginLoss);
TANDEM_LAYER(CTCLoss, Loss, = {}, const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
             const Tensor& target_lengths);
TANDEM_MODULE(CTCLoss);
TANDEM_LAYER(SoftMarginLoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(SoftMarginLoss);
TANDEM_LAYER(MultiMarginLoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(MultiMarginLoss);
TANDEM_LAYER(MultiLabelSoftMarginLoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(MultiLabelSoftMarginLoss);
TANDEM_LAYER(PoissonNLLLoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(PoissonNLLLoss);

}  // namespace tandem::nn
