// Losses as modules: forward(input, target). See autograd/ops/loss/loss.h for equations and shapes.
#pragma once
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"
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

class CrossEntropyLossImpl : public detail::Loss<CrossEntropyLossImpl, CrossEntropyLossOptions> {
 public:
  explicit CrossEntropyLossImpl(const CrossEntropyLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(CrossEntropyLoss);

class NLLLossImpl : public detail::Loss<NLLLossImpl, NLLLossOptions> {
 public:
  explicit NLLLossImpl(const NLLLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(NLLLoss);

class MSELossImpl : public detail::Loss<MSELossImpl, MSELossOptions> {
 public:
  explicit MSELossImpl(const MSELossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(MSELoss);

class L1LossImpl : public detail::Loss<L1LossImpl, L1LossOptions> {
 public:
  explicit L1LossImpl(const L1LossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(L1Loss);

class SmoothL1LossImpl : public detail::Loss<SmoothL1LossImpl, SmoothL1LossOptions> {
 public:
  explicit SmoothL1LossImpl(const SmoothL1LossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(SmoothL1Loss);

class HuberLossImpl : public detail::Loss<HuberLossImpl, HuberLossOptions> {
 public:
  explicit HuberLossImpl(const HuberLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(HuberLoss);

class BCELossImpl : public detail::Loss<BCELossImpl, BCELossOptions> {
 public:
  explicit BCELossImpl(const BCELossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(BCELoss);

class BCEWithLogitsLossImpl : public detail::Loss<BCEWithLogitsLossImpl, BCEWithLogitsLossOptions> {
 public:
  explicit BCEWithLogitsLossImpl(const BCEWithLogitsLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(BCEWithLogitsLoss);

class KLDivLossImpl : public detail::Loss<KLDivLossImpl, KLDivLossOptions> {
 public:
  explicit KLDivLossImpl(const KLDivLossOptions& options_ = {}) : Loss(options_) {}
  Tensor forward(const Tensor& input, const Tensor& target);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(KLDivLoss);

}  // namespace tandem::nn
