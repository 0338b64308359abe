// Losses as modules.
#include "tandem/nn/layers/loss.h"

#include <ostream>

#include "tandem/nn/functional/loss.h"

namespace tandem::nn {

Tensor CrossEntropyLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::cross_entropy(input, target, options);
}
void CrossEntropyLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::CrossEntropyLoss()";
}
Tensor NLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::nll_loss(input, target, options);
}
void NLLLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::NLLLoss()"; }
Tensor MSELossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::mse_loss(input, target, options);
}
void MSELossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::MSELoss()"; }
Tensor L1LossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::l1_loss(input, target, options);
}
void L1LossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::L1Loss()"; }
Tensor SmoothL1LossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::smooth_l1_loss(input, target, options);
}
void SmoothL1LossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::SmoothL1Loss()"; }
Tensor HuberLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::huber_loss(input, target, options);
}
void HuberLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::HuberLoss()"; }
Tensor BCELossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::binary_cross_entropy(input, target, options);
}
void BCELossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::BCELoss()"; }
Tensor BCEWithLogitsLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::binary_cross_entropy_with_logits(input, target, options);
}
void BCEWithLogitsLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::BCEWithLogitsLoss()";
}
Tensor KLDivLossImpl::forward(const Tensor& input, const Tensor& target) {
  return functional::kl_div(input, target, options);
}
void KLDivLossImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::KLDivLoss()"; }

}  // namespace tandem::nn
