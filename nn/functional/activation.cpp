// Functional forms of activations.
#include "tandem/nn/functional/activation.h"

#include "tandem/autograd/ops/activation.h"
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/reduce.h"
#include "tandem/autograd/ops/softmax.h"
#include "tandem/autograd/ops/unary.h"

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

Tensor softmin(const Tensor& input, const SoftminFuncOptions& options) {
  return (-input).softmax(options.dim(), options.dtype());
}
Tensor celu(Tensor input, const CELUFuncOptions& options) {
  return options.inplace() ? tandem::celu_(input, options.alpha()) : tandem::celu(input, options.alpha());
}
Tensor threshold(Tensor input, const ThresholdFuncOptions& options) {
  return options.inplace() ? tandem::threshold_(input, options.threshold(), options.value())
                           : tandem::threshold(input, options.threshold(), options.value());
}
Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& options) {
  return tandem::hardshrink(input, options.lambda());
}
Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& options) {
  return tandem::softshrink(input, options.lambda());
}
Tensor tanhshrink(const Tensor& input) { return tandem::tanhshrink(input); }
Tensor hardsigmoid(const Tensor& input) { return tandem::hardsigmoid(input); }
Tensor hardswish(const Tensor& input) { return tandem::hardswish(input); }
Tensor glu(const Tensor& input, const GLUFuncOptions& options) { return tandem::glu(input, options.dim()); }
Tensor prelu(const Tensor& input, const Tensor& weight) { return tandem::prelu(input, weight); }

Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options) {
  const Tensor noise = -empty_like(logits).exponential_().log();
  const Tensor soft = ((logits + noise) / options.tau()).softmax(options.dim());
  if (!options.hard()) return soft;
  const Tensor place = soft.argmax(options.dim(), true);
  return zeros_like(soft).scatter(options.dim(), place, 1) - soft.detach() + soft;
}

}  // namespace tandem::nn::functional
