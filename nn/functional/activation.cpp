// Functional forms of activations.
#include "tandem/nn/functional/activation.h"

#include "tandem/autograd/ops/activation.h"

namespace tandem::nn::functional {

Tensor relu(Tensor input, const ReLUFuncOptions& options) {
  return options.inplace() ? tandem::relu_(input) : tandem::relu(input);
}
Tensor relu6(Tensor input, const ReLU6FuncOptions& options) {
  return options.inplace() ? tandem::relu6_(input) : tandem::relu6(input);
}
Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options) {
  return options.inplace() ? tandem::leaky_relu_(input, options.negative_slope())
                           : tandem::leaky_relu(input, options.negative_slope());
}
Tensor elu(Tensor input, const ELUFuncOptions& options) {
  return options.inplace() ? tandem::elu_(input, options.alpha()) : tandem::elu(input, options.alpha());
}
Tensor selu(Tensor input, const SELUFuncOptions& options) {
  return options.inplace() ? tandem::selu_(input) : tandem::selu(input);
}
Tensor hardtanh(Tensor input, const HardtanhFuncOptions& options) {
  return options.inplace() ? tandem::hardtanh_(input, options.min_val(), options.max_val())
                           : tandem::hardtanh(input, options.min_val(), options.max_val());
}
Tensor gelu(const Tensor& input, const GELUFuncOptions& options) {
  return tandem::gelu(input, options.approximate().tanh ? "tanh" : "none");
}
Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options) {
  return tandem::softplus(input, options.beta(), options.threshold());
}
Tensor silu(const Tensor& input) { return tandem::silu(input); }
Tensor mish(const Tensor& input) { return tandem::mish(input); }
Tensor logsigmoid(const Tensor& input) { return tandem::log_sigmoid(input); }
Tensor softsign(const Tensor& input) { return tandem::softsign(input); }
Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options) {
  return input.softmax(options.dim(), options.dtype());
}
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options) {
  return input.log_softmax(options.dim(), options.dtype());
}
}  // namespace tandem::nn::functional
