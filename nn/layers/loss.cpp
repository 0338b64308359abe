// Losses: functional forms and modules.
#include "tandem/nn/layers/loss.h"

#include "tandem/autograd/ops/loss/loss.h"
#include "tandem/autograd/ops/loss/margin_loss.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/nn/enum_names.h"
#include "tandem/nn/functional/loss.h"
#include "tandem/nn/layers/margin_loss.h"
#include "tandem/nn/layers/print.h"

namespace tandem::nn::functional {
namespace {
// Broadcasts both to one shape, as LibTorch's functional forms do: a 0-d tensor's dtype then counts fully.
template <class Loss, class... Options>
Tensor broadcast(const Loss& loss, const Tensor& input, const Tensor& target, const Options&... options) {
  if (input.dtype() == target.dtype()) return loss(input, target, options...);
  const std::vector<Tensor> both = broadcast_tensors({input, target});
  return loss(both[0], both[1], options...);
}
}  // namespace

Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options) {
  return tandem::cross_entropy_loss(input, target, options.weight(), options.reduction(), options.ignore_index(),
                                    options.label_smoothing());
}
Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options) {
  return tandem::nll_loss(input, target, options.weight(), options.reduction(), options.ignore_index());
}
Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options) {
  return broadcast(tandem::mse_loss, input, target, options.reduction());
}
Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options) {
  return broadcast(tandem::l1_loss, input, target, options.reduction());
}
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options) {
  return broadcast(tandem::smooth_l1_loss, input, target, options.reduction(), options.beta().value_or(1.0));
}
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options) {
  return tandem::huber_loss(input, target, options.reduction(), options.delta());
}
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryCrossEntropyFuncOptions& options) {
  check(input.sizes() == target.sizes(), "Using a target size (", target.sizes(),
        ") that is different to the input size (", input.sizes(),
        ") is deprecated. Please ensure they have the same size.");
  return tandem::binary_cross_entropy(input, target, options.weight(), options.reduction());
}
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options) {
  return tandem::binary_cross_entropy_with_logits(input, target, options.weight(), options.pos_weight(),
                                                  options.reduction());
}
Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options) {
  return tandem::kl_div(input, target, options.reduction(), options.log_target());
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingLossFuncOptions& options) {
  return tandem::margin_ranking_loss(input1, input2, target, options.margin(), options.reduction());
}
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, const HingeEmbeddingLossFuncOptions& options) {
  return tandem::hinge_embedding_loss(input, target, options.margin(), options.reduction());
}
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& options) {
  return tandem::cosine_embedding_loss(input1, input2, target, options.margin(), options.reduction());
}
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossFuncOptions& options) {
  return tandem::triplet_margin_loss(anchor, positive, negative, options.margin(), options.p(), options.eps(),
                                     options.swap(), options.reduction());
}
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const SoftMarginLossFuncOptions& options) {
  return tandem::soft_margin_loss(input, target, options.reduction());
}
Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginLossFuncOptions& options) {
  return tandem::multi_margin_loss(input, target, static_cast<double>(options.p()), options.margin(), options.weight(),
                                   options.reduction());
}
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultilabelSoftMarginLossFuncOptions& options) {
  return tandem::multilabel_soft_margin_loss(input, target, options.weight(), options.reduction());
}
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLLossFuncOptions& options) {
  return tandem::poisson_nll_loss(input, target, options.log_input(), options.full(), options.eps(),
                                  options.reduction());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

// A loss of an input and a target, from its function and the parts of its text.
#define LOSS(Name, function, ...)                                         \
  Tensor Name##Impl::forward(const Tensor& input, const Tensor& target) { \
    return functional::function(input, target, options);                  \
  }                                                                       \
  TANDEM_PRINTED_AS(Name __VA_OPT__(, ) __VA_ARGS__)

LOSS(CrossEntropyLoss, cross_entropy)
LOSS(NLLLoss, nll_loss)
LOSS(MSELoss, mse_loss)
LOSS(L1Loss, l1_loss)
Tensor SmoothL1LossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::smooth_l1_loss(input, target, options);
}
void SmoothL1LossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::SmoothL1Loss"; }
Tensor HuberLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::huber_loss(input, target, options);
}
void HuberLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::HuberLoss"; }
LOSS(BCELoss, binary_cross_entropy)
LOSS(BCEWithLogitsLoss, binary_cross_entropy_with_logits)
LOSS(KLDivLoss, kl_div)

Tensor MarginRankingLossImpl::forward(const Tensor& input1, const Tensor& input2, const Tensor& target) {
  return functional::margin_ranking_loss(input1, input2, target, options);
}
TANDEM_PRINTED_AS(MarginRankingLoss)
LOSS(HingeEmbeddingLoss, hinge_embedding_loss, "margin=", options.margin())
Tensor CosineEmbeddingLossImpl::forward(const Tensor& input1, const Tensor& input2, const Tensor& target) {
  return functional::cosine_embedding_loss(input1, input2, target, options);
}
TANDEM_PRINTED_AS(CosineEmbeddingLoss, "margin=", options.margin())
Tensor TripletMarginLossImpl::forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative) {
  return functional::triplet_margin_loss(anchor, positive, negative, options);
}
TANDEM_PRINTED_AS(TripletMarginLoss, "margin=", options.margin(), ", p=", options.p(), ", eps=", options.eps(),
                  ", swap=", detail::word(options.swap()))
LOSS(SoftMarginLoss, soft_margin_loss)
LOSS(MultiMarginLoss, multi_margin_loss, "p=", options.p(), ", margin=", options.margin(),
     ", weight=", options.weight(), ", reduction=", enum_name(options.reduction()))
LOSS(MultiLabelSoftMarginLoss, multilabel_soft_margin_loss)
LOSS(PoissonNLLLoss, poisson_nll_loss)

}  // namespace tandem::nn
