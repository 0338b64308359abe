// Functional forms of losses.
#include "tandem/nn/functional/loss.h"

#include "tandem/autograd/ops/loss.h"

namespace tandem::nn::functional {

Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options) {
  return tandem::cross_entropy_loss(input, target, options.weight(), options.reduction(),
                                    options.ignore_index(), options.label_smoothing());
}
Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options) {
  return tandem::nll_loss(input, target, options.weight(), options.reduction(), options.ignore_index());
}
Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options) {
  return tandem::mse_loss(input, target, options.reduction());
}
Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options) {
  return tandem::l1_loss(input, target, options.reduction());
}
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options) {
  return tandem::smooth_l1_loss(input, target, options.reduction(), options.beta());
}
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options) {
  return tandem::huber_loss(input, target, options.reduction(), options.delta());
}
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                            const BinaryCrossEntropyFuncOptions& options) {
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

}  // namespace tandem::nn::functional
