// Activations.
#include "tandem/nn/layers/activation.h"

#include <ostream>

#include "tandem/autograd/ops/activation.h"
#include "tandem/nn/functional/activation.h"

namespace tandem::nn {
namespace {
const char* inplace_note(bool inplace) { return inplace ? ", inplace=true" : ""; }
}  // namespace

Tensor SigmoidImpl::forward(const Tensor& input) { return tandem::sigmoid(input); }
void SigmoidImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Sigmoid()"; }
Tensor TanhImpl::forward(const Tensor& input) { return tandem::tanh(input); }
void TanhImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Tanh()"; }
Tensor SiLUImpl::forward(const Tensor& input) { return tandem::silu(input); }
void SiLUImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::SiLU()"; }
Tensor MishImpl::forward(const Tensor& input) { return tandem::mish(input); }
void MishImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Mish()"; }
Tensor SoftsignImpl::forward(const Tensor& input) { return tandem::softsign(input); }
void SoftsignImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Softsign()"; }
Tensor LogSigmoidImpl::forward(const Tensor& input) { return tandem::log_sigmoid(input); }
void LogSigmoidImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::LogSigmoid()"; }
Tensor HardswishImpl::forward(const Tensor& input) { return tandem::hardswish(input); }
void HardswishImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Hardswish()"; }
Tensor HardsigmoidImpl::forward(const Tensor& input) { return tandem::hardsigmoid(input); }
void HardsigmoidImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::Hardsigmoid()"; }

Tensor ReLUImpl::forward(Tensor input) { return functional::relu(std::move(input), options); }
void ReLUImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::ReLU(" << (options.inplace() ? "inplace" : "") << ")";
}
Tensor ReLU6Impl::forward(Tensor input) { return functional::relu6(std::move(input), options); }
void ReLU6Impl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::ReLU6(" << (options.inplace() ? "inplace" : "") << ")";
}
Tensor LeakyReLUImpl::forward(Tensor input) { return functional::leaky_relu(std::move(input), options); }
void LeakyReLUImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::LeakyReLU(negative_slope=" << options.negative_slope()
         << inplace_note(options.inplace()) << ")";
}
Tensor ELUImpl::forward(Tensor input) { return functional::elu(std::move(input), options); }
void ELUImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::ELU(alpha=" << options.alpha() << inplace_note(options.inplace()) << ")";
}
Tensor SELUImpl::forward(Tensor input) { return functional::selu(std::move(input), options); }
void SELUImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::SELU(" << (options.inplace() ? "inplace" : "") << ")";
}
Tensor GELUImpl::forward(const Tensor& input) { return functional::gelu(input, options); }
void GELUImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::GELU()"; }
Tensor HardtanhImpl::forward(Tensor input) { return functional::hardtanh(std::move(input), options); }
void HardtanhImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Hardtanh(min_val=" << options.min_val() << ", max_val=" << options.max_val()
         << inplace_note(options.inplace()) << ")";
}
Tensor SoftplusImpl::forward(const Tensor& input) { return functional::softplus(input, options); }
void SoftplusImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Softplus(beta=" << options.beta() << ", threshold=" << options.threshold() << ")";
}
Tensor SoftmaxImpl::forward(const Tensor& input) { return input.softmax(options.dim()); }
void SoftmaxImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Softmax(dim=" << options.dim() << ")";
}
Tensor LogSoftmaxImpl::forward(const Tensor& input) { return input.log_softmax(options.dim()); }
void LogSoftmaxImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::LogSoftmax(dim=" << options.dim() << ")";
}

}  // namespace tandem::nn
