// More activations: shrinkage, thresholds, gated units, PReLU, softmin.
#pragma once
#include "tandem/nn/layers/activation.h"

namespace tandem::nn {

class CELUImpl : public detail::Optioned<CELUImpl, CELUOptions> {
 public:
  explicit CELUImpl(const CELUOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(CELU);

class ThresholdImpl : public detail::Optioned<ThresholdImpl, ThresholdOptions> {
 public:
  ThresholdImpl(double threshold, double value) : ThresholdImpl(ThresholdOptions(threshold, value)) {}
  explicit ThresholdImpl(const ThresholdOptions& options_) : Optioned(options_) {}
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Threshold);

class HardshrinkImpl : public detail::Optioned<HardshrinkImpl, HardshrinkOptions> {
 public:
  explicit HardshrinkImpl(const HardshrinkOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Hardshrink);

class SoftshrinkImpl : public detail::Optioned<SoftshrinkImpl, SoftshrinkOptions> {
 public:
  explicit SoftshrinkImpl(const SoftshrinkOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Softshrink);

class GLUImpl : public detail::Optioned<GLUImpl, GLUOptions> {
 public:
  explicit GLUImpl(const GLUOptions& options_ = {}) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(GLU);

class SoftminImpl : public detail::Optioned<SoftminImpl, SoftminOptions> {
 public:
  explicit SoftminImpl(const SoftminOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Softmin);

class TanhshrinkImpl : public detail::Plain<TanhshrinkImpl> {
 public:
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Tanhshrink);

/// Softmax over the channels of [N, C, H, W] or [C, H, W].
class Softmax2dImpl : public detail::Plain<Softmax2dImpl> {
 public:
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Softmax2d);

/// x where positive, otherwise weight · x; weight [num_parameters] is learned.
class PReLUImpl : public Cloneable<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& options = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
  PReLUOptions options;
  Tensor weight;
};
TANDEM_MODULE(PReLU);

}  // namespace tandem::nn
