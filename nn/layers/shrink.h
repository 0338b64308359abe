// More activations: shrinkage, thresholds, gated units, PReLU, softmin.
#pragma once
#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/activation.h"

namespace tandem::nn {

TANDEM_LAYER(CELU, Optioned, = {}, Tensor input);
TANDEM_MODULE(CELU);

class ThresholdImpl : public detail::Optioned<ThresholdImpl, ThresholdOptions> {
 public:
  ThresholdImpl(double threshold, double value) : ThresholdImpl(ThresholdOptions(threshold, value)) {}
  explicit ThresholdImpl(const ThresholdOptions& options_) : Optioned(options_) {}
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Threshold);
TANDEM_LAYER(Hardshrink, Optioned, = {}, const Tensor& input);
TANDEM_MODULE(Hardshrink);
TANDEM_LAYER(Softshrink, Optioned, = {}, const Tensor& input);
TANDEM_MODULE(Softshrink);
TANDEM_LAYER(GLU, Optioned, = {}, const Tensor& input);
TANDEM_MODULE(GLU);
TANDEM_LAYER(Softmin, Optioned, , const Tensor& input);
TANDEM_MODULE(Softmin);
TANDEM_PLAIN_LAYER(Tanhshrink);
TANDEM_MODULE(Tanhshrink);

/// Softmax over the channels of [N, C, H, W] or [C, H, W].
TANDEM_PLAIN_LAYER(Softmax2d);
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
