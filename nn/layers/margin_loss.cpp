// TripletMarginWithDistanceLoss, MultiLabelMarginLoss and CTCLoss, and their functional forms.
#include "tandem/nn/layers/margin_loss.h"

#include "tandem/autograd/ops/linalg/distance.h"
#include "tandem/autograd/ops/loss/ctc_loss.h"
#include "tandem/autograd/ops/loss/loss.h"
#include "tandem/autograd/ops/loss/margin_loss.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/nn/functional/loss.h"
#include "tandem/nn/layers/print.h"

namespace tandem::nn::functional {

Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& options) {
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return options.distance_function() ? (*options.distance_function())(a, b) : tandem::pairwise_distance(a, b);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (options.swap()) far = minimum(far, distance(positive, negative));
  return autograd::reduce_loss("triplet_margin_with_distance_loss",
                               (near - far + options.margin()).clamp_min(Scalar(0)), options.reduction());
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                              const MultilabelMarginLossFuncOptions& options) {
  return tandem::multilabel_margin_loss(input, target, options.reduction());
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossFuncOptions& options) {
  return tandem::ctc_loss(log_probs, targets, input_lengths, target_lengths, options.blank(), options.reduction(),
                          options.zero_infinity());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

Tensor TripletMarginWithDistanceLossImpl::forward(const Tensor& anchor, const Tensor& positive,
                                                  const Tensor& negative) {
  return functional::triplet_margin_with_distance_loss(anchor, positive, negative, options);
}
TANDEM_PRINTED_AS(TripletMarginWithDistanceLoss, "margin=", options.margin(), ", swap=", detail::word(options.swap()))
Tensor MultiLabelMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::multilabel_margin_loss(input, target, options);
}
TANDEM_PRINTED_AS(MultiLabelMarginLoss)
Tensor CTCLossImpl::forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                            const Tensor& target_lengths) {
  return functional::ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
}
TANDEM_PRINTED_AS(CTCLoss)

}  // namespace tandem::nn
