// Pairwise, triplet and margin losses as modules. See autograd/ops/loss/margin_loss.h for their equations.
#pragma once
#include "tandem/nn/layers/loss.h"

namespace tandem::nn {

class MarginRankingLossImpl : public detail::Loss<MarginRankingLossImpl, MarginRankingLossOptions> {
 public:
  explicit MarginRankingLossImpl(const MarginRankingLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(MarginRankingLoss);

class HingeEmbeddingLossImpl : public detail::Loss<HingeEmbeddingLossImpl, HingeEmbeddingLossOptions> {
 public:
  explicit HingeEmbeddingLossImpl(const HingeEmbeddingLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(HingeEmbeddingLoss);

class CosineEmbeddingLossImpl : public detail::Loss<CosineEmbeddingLossImpl, CosineEmbeddingLossOptions> {
 public:
  explicit CosineEmbeddingLossImpl(const CosineEmbeddingLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(CosineEmbeddingLoss);

class TripletMarginLossImpl : public detail::Loss<TripletMarginLossImpl, TripletMarginLossOptions> {
 public:
  explicit TripletMarginLossImpl(const TripletMarginLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(TripletMarginLoss);

class TripletMarginWithDistanceLossImpl
    : public detail::Loss<TripletMarginWithDistanceLossImpl, TripletMarginWithDistanceLossOptions> {
 public:
  explicit TripletMarginWithDistanceLossImpl(TripletMarginWithDistanceLossOptions options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(TripletMarginWithDistanceLoss);

class MultiLabelMarginLossImpl : public detail::Loss<MultiLabelMarginLossImpl, MultiLabelMarginLossOptions> {
 public:
  explicit MultiLabelMarginLossImpl(const MultiLabelMarginLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(MultiLabelMarginLoss);

class CTCLossImpl : public detail::Loss<CTCLossImpl, CTCLossOptions> {
 public:
  explicit CTCLossImpl(const CTCLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(CTCLoss);

class SoftMarginLossImpl : public detail::Loss<SoftMarginLossImpl, SoftMarginLossOptions> {
 public:
  explicit SoftMarginLossImpl(const SoftMarginLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(SoftMarginLoss);

class MultiMarginLossImpl : public detail::Loss<MultiMarginLossImpl, MultiMarginLossOptions> {
 public:
  explicit MultiMarginLossImpl(const MultiMarginLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(MultiMarginLoss);

class MultiLabelSoftMarginLossImpl
    : public detail::Loss<MultiLabelSoftMarginLossImpl, MultiLabelSoftMarginLossOptions> {
 public:
  explicit MultiLabelSoftMarginLossImpl(const MultiLabelSoftMarginLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(MultiLabelSoftMarginLoss);

class PoissonNLLLossImpl : public detail::Loss<PoissonNLLLossImpl, PoissonNLLLossOptions> {
 public:
  explicit PoissonNLLLossImpl(const PoissonNLLLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(PoissonNLLLoss);

}  // namespace tandem::nn
