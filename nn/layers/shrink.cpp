// More activations.
#include "tandem/nn/layers/shrink.h"

#include <ostream>

#include "tandem/autograd/ops/activation.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/nn/functional/activation.h"

namespace tandem::nn {

Tensor CELUImpl::forward(Tensor input) { return functional::celu(std::move(input), options); }
void CELUImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::CELU(alpha=" << options.alpha() << ")";
}
Tensor ThresholdImpl::forward(Tensor input) { return functional::threshold(std::move(input), options); }
void ThresholdImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Threshold(threshold=" << options.threshold() << ", value=" << options.value() << ")";
}
Tensor HardshrinkImpl::forward(const Tensor& input) { return functional::hardshrink(input, options); }
void HardshrinkImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Hardshrink(lambda=" << options.lambda() << ")";
}
Tensor SoftshrinkImpl::forward(const Tensor& input) { return functional::softshrink(input, options); }
void SoftshrinkImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Softshrink(lambda=" << options.lambda() << ")";
}
Tensor GLUImpl::forward(const Tensor& input) { return functional::glu(input, options); }
void GLUImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::GLU(dim=" << options.dim() << ")";
}
Tensor SoftminImpl::forward(const Tensor& input) { return (-input).softmax(options.dim()); }
void SoftminImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Softmin(dim=" << options.dim() << ")";
}

Tensor TanhshrinkImpl::forward(const Tensor& input) { return tandem::tanhshrink(input); }
void TanhshrinkImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Tanhshrink()"; }
Tensor Softmax2dImpl::forward(const Tensor& input) {
  check(input.dim() == 3 || input.dim() == 4, "Softmax2d: input must be [N, C, H, W] or [C, H, W], got ",
        input);
  return input.softmax(-3);
}
void Softmax2dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Softmax2d()"; }

PReLUImpl::PReLUImpl(const PReLUOptions& options) : options(options) { PReLUImpl::reset(); }
void PReLUImpl::reset() {
  weight = register_parameter("weight",
                              full({options.num_parameters()}, options.init(), dtype(get_default_dtype())));
}
Tensor PReLUImpl::forward(const Tensor& input) { return tandem::prelu(input, weight); }
void PReLUImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::PReLU(num_parameters=" << options.num_parameters() << ")";
}

}  // namespace tandem::nn
