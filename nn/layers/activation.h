// Activations. Elementwise except Softmax and LogSoftmax (along dim); floating point.
#pragma once
#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/activation.h"

namespace tandem::nn {

TANDEM_PLAIN_LAYER(Sigmoid);
TANDEM_MODULE(Sigmoid);
TANDEM_PLAIN_LAYER(Tanh);
TANDEM_MODULE(Tanh);
TANDEM_PLAIN_LAYER(SiLU);
TANDEM_MODULE(SiLU);

/// x where positive, else r x, with r random during training and the mean of lower and upper otherwise.
TANDEM_LAYER(RReLU, Optioned, = {}, Tensor input);
TANDEM_MODULE(RReLU);
TANDEM_PLAIN_LAYER(Mish);
TANDEM_MODULE(Mish);
TANDEM_PLAIN_LAYER(Softsign);
TANDEM_MODULE(Softsign);
TANDEM_PLAIN_LAYER(LogSigmoid);
TANDEM_MODULE(LogSigmoid);
TANDEM_PLAIN_LAYER(Hardswish);
TANDEM_MODULE(Hardswish);
TANDEM_PLAIN_LAYER(Hardsigmoid);
TANDEM_MODULE(Hardsigmoid);
TANDEM_LAYER(ReLU, Optioned, = {}, Tensor input);
TANDEM_MODULE(ReLU);
TANDEM_LAYER(ReLU6, Optioned, = {}, Tensor input);
TANDEM_MODULE(ReLU6);
TANDEM_LAYER(LeakyReLU, Optioned, = {}, Tensor input);
TANDEM_MODULE(LeakyReLU);
TANDEM_LAYER(ELU, Optioned, = {}, Tensor input);
TANDEM_MODULE(ELU);
TANDEM_LAYER(SELU, Optioned, = {}, Tensor input);
TANDEM_MODULE(SELU);
TANDEM_LAYER(GELU, Optioned, = {}, const Tensor& input);
TANDEM_MODULE(GELU);

class HardtanhImpl : public detail::Optioned<HardtanhImpl, HardtanhOptions> {
 public:
  /// Throws Error unless min_val is less than max_val.
  explicit HardtanhImpl(const HardtanhOptions& options = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Hardtanh);
TANDEM_LAYER(Softplus, Optioned, = {}, const Tensor& input);
TANDEM_MODULE(Softplus);
TANDEM_LAYER(Softmax, Optioned, , const Tensor& input);
TANDEM_MODULE(Softmax);
TANDEM_LAYER(LogSoftmax, Optioned, , const Tensor& input);
TANDEM_MODULE(LogSoftmax);

}  // namespace tandem::nn
