// Activations: functional forms and modules.
#include "tandem/nn/layers/activation.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/nn/softmax.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/nn/functional/activation.h"
#include "tandem/nn/layers/print.h"
#include "tandem/nn/layers/shrink.h"

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

Tensor rrelu(Tensor input, const RReLUFuncOptions& options) {
  if (options.inplace()) return tandem::rrelu_(input, options.lower(), options.upper(), options.training());
  return tandem::rrelu(input, options.lower(), options.upper(), options.training());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {
namespace {
const char* inplace_note(bool inplace) { return inplace ? ", inplace=true" : ""; }
}  // namespace

// A layer without options, from its function.
#define PLAIN(Name, function)                                                         \
  Tensor Name##Impl::forward(const Tensor& input) { return tandem::function(input); } \
  TANDEM_PRINTED_AS(Name)

PLAIN(Sigmoid, sigmoid)
PLAIN(Tanh, tanh)
PLAIN(SiLU, silu)
PLAIN(Mish, mish)
PLAIN(Softsign, softsign)
PLAIN(LogSigmoid, log_sigmoid)
PLAIN(Hardswish, hardswish)
PLAIN(Hardsigmoid, hardsigmoid)

Tensor ReLUImpl::forward(Tensor input) { return functional::relu(std::move(input), options); }
TANDEM_PRINTED_AS(ReLU, options.inplace() ? "inplace=true" : "")
Tensor ReLU6Impl::forward(Tensor input) { return functional::relu6(std::move(input), options); }
TANDEM_PRINTED_AS(ReLU6, options.inplace() ? "inplace=true" : "")
Tensor LeakyReLUImpl::forward(Tensor input) { return functional::leaky_relu(std::move(input), options); }
TANDEM_PRINTED_AS(LeakyReLU, "negative_slope=", options.negative_slope(), inplace_note(options.inplace()))
Tensor ELUImpl::forward(Tensor input) { return functional::elu(std::move(input), options); }
TANDEM_PRINTED_AS(ELU, "alpha=", options.alpha(), inplace_note(options.inplace()))
Tensor SELUImpl::forward(Tensor input) { return functional::selu(std::move(input), options); }
TANDEM_PRINTED_AS(SELU, options.inplace() ? "inplace=true" : "")
Tensor GELUImpl::forward(const Tensor& input) { return functional::gelu(input, options); }
TANDEM_PRINTED_AS(GELU)
HardtanhImpl::HardtanhImpl(const HardtanhOptions& options) : Optioned(options) { HardtanhImpl::reset(); }
void HardtanhImpl::reset() {
  check(options.min_val() < options.max_val(),
        "max_val must be greater than min_val: Hardtanh got min_val=", options.min_val(),
        ", max_val=", options.max_val());
}
Tensor HardtanhImpl::forward(Tensor input) { return functional::hardtanh(std::move(input), options); }
TANDEM_PRINTED_AS(Hardtanh, "min_val=", options.min_val(), ", max_val=", options.max_val(),
                  inplace_note(options.inplace()))
Tensor SoftplusImpl::forward(const Tensor& input) { return functional::softplus(input, options); }
TANDEM_PRINTED_AS(Softplus, "beta=", options.beta(), ", threshold=", options.threshold())
Tensor SoftmaxImpl::forward(const Tensor& input) { return input.softmax(options.dim()); }
TANDEM_PRINTED_AS(Softmax, "dim=", options.dim())
Tensor LogSoftmaxImpl::forward(const Tensor& input) { return input.log_softmax(options.dim()); }
TANDEM_PRINTED_AS(LogSoftmax, "dim=", options.dim())

Tensor CELUImpl::forward(Tensor input) { return functional::celu(std::move(input), options); }
TANDEM_PRINTED_AS(CELU, "alpha=", options.alpha(), inplace_note(options.inplace()))
Tensor RReLUImpl::forward(Tensor input) {
  return functional::rrelu(std::move(input), functional::RReLUFuncOptions()
                                                 .lower(options.lower())
                                                 .upper(options.upper())
                                                 .training(is_training())
                                                 .inplace(options.inplace()));
}
TANDEM_PRINTED_AS(RReLU, "lower=", options.lower(), ", upper=", options.upper(), inplace_note(options.inplace()))
Tensor ThresholdImpl::forward(Tensor input) { return functional::threshold(std::move(input), options); }
TANDEM_PRINTED_AS(Threshold, "threshold=", options.threshold(), ", value=", options.value(),
                  inplace_note(options.inplace()))
Tensor HardshrinkImpl::forward(const Tensor& input) { return functional::hardshrink(input, options); }
TANDEM_PRINTED_AS(Hardshrink, options.lambda())
Tensor SoftshrinkImpl::forward(const Tensor& input) { return functional::softshrink(input, options); }
TANDEM_PRINTED_AS(Softshrink, options.lambda())
Tensor GLUImpl::forward(const Tensor& input) { return functional::glu(input, options); }
TANDEM_PRINTED_AS(GLU, "dim=", options.dim())
Tensor SoftminImpl::forward(const Tensor& input) { return (-input).softmax(options.dim()); }
TANDEM_PRINTED_AS(Softmin, "dim=", options.dim())

PLAIN(Tanhshrink, tanhshrink)
Tensor Softmax2dImpl::forward(const Tensor& input) {
  check(input.dim() == 3 || input.dim() == 4, "Softmax2d: input must be [N, C, H, W] or [C, H, W], got ", input);
  return input.softmax(-3);
}
TANDEM_PRINTED_AS(Softmax2d)

PReLUImpl::PReLUImpl(const PReLUOptions& options) : options(options) { PReLUImpl::reset(); }
void PReLUImpl::reset() {
  weight = register_parameter("weight", full({options.num_parameters()}, options.init(), dtype(get_default_dtype())));
}
Tensor PReLUImpl::forward(const Tensor& input) { return tandem::prelu(input, weight); }
TANDEM_PRINTED_AS(PReLU, "num_parameters=", options.num_parameters())

}  // namespace tandem::nn
