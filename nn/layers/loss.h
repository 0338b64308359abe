// Losses as modules: forward(input, target). See autograd/ops/loss/loss.h for equations and shapes.
#pragma once
#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/loss.h"

namespace tandem::nn {

namespace detail {
/// A loss that stores its options and registers their tensors as buffers.
template <class Derived, class Options>
class Loss : public Cloneable<Derived> {
 public:
  explicit Loss(const Options& o) : options(o) { Loss::reset(); }
  void reset() override {
    if constexpr (requires { options.weight(); }) add_buffer("weight", options.weight());
    if constexpr (requires { options.pos_weight(); }) add_buffer("pos_weight", options.pos_weight());
  }
  Options options;

 private:
  // Copies the tensor: a clone's reset() must not share it with the original.
  void add_buffer(const char* name, Tensor& option) {
    if (option.defined()) option = option.detach().clone();
    this->register_buffer(name, option);
  }
};
}  // namespace detail

TANDEM_LAYER(CrossEntropyLoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(CrossEntropyLoss);
TANDEM_LAYER(NLLLoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(NLLLoss);
TANDEM_LAYER(MSELoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(MSELoss);
TANDEM_LAYER(L1Loss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(L1Loss);
TANDEM_LAYER(SmoothL1Loss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(SmoothL1Loss);
TANDEM_LAYER(HuberLoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(HuberLoss);
TANDEM_LAYER(BCELoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(BCELoss);
TANDEM_LAYER(BCEWithLogitsLoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(BCEWithLogitsLoss);
TANDEM_LAYER(KLDivLoss, Loss, = {}, const Tensor& input, const Tensor& target);
TANDEM_MODULE(KLDivLoss);

}  // namespace tandem::nn
