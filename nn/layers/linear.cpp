// Linear, Bilinear, Identity, Flatten and Unflatten, and the functional forms linear and bilinear.
#include "tandem/nn/layers/linear.h"

#include <cmath>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/nn/conv2d.h"
#include "tandem/nn/functional/linear.h"
#include "tandem/nn/layers/print.h"
#include "tandem/nn/layers/replace_parameters.h"

namespace tandem::nn::functional {

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return tandem::linear(input, weight, bias);
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  return tandem::bilinear(input1, input2, weight, bias);
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

LinearImpl::LinearImpl(const LinearOptions& options) : options(options) {
  check(options.in_features() >= 0 && options.out_features() >= 0,
        "Linear: features must not be negative, got in_features=", options.in_features(),
        ", out_features=", options.out_features());
  LinearImpl::reset();
}
void LinearImpl::reset() {
  if (is_quantized())
    reset_int8(parameters_, buffers_, weight);
  else
    weight = register_parameter("weight", empty({options.out_features(), options.in_features()}));
  bias = options.bias() ? register_parameter("bias", empty({options.out_features()}))
                        : register_parameter("bias", {}, false);
  reset_parameters();
}
void LinearImpl::reset_parameters() {
  if (!is_quantized()) init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined() || options.in_features() == 0) return;
  const double bound = 1 / std::sqrt(static_cast<double>(options.in_features()));
  init::uniform_(bias, -bound, bound);
}
void LinearImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Linear(in_features=" << options.in_features() << ", out_features=" << options.out_features()
         << ", bias=" << (options.bias() ? "true" : "false") << detail::fused_text(fused);
  if (is_quantized()) stream << ", " << int8_text();
  stream << ")";
}
Tensor LinearImpl::forward(const Tensor& input) {
  return autograd::activated_(is_quantized() ? int8_product(*this, input, bias) : linear(input, weight, bias), fused);
}
void LinearImpl::quantize(const Tensor& values, const Tensor& scales) {
  hold_int8(parameters_, buffers_, weight, values, scales);
}
void LinearImpl::replace(const Tensor& new_weight, const Tensor& new_bias) {
  detail::replace_parameters(parameters_, weight, new_weight, bias, new_bias);
  options.bias(true);
}

BilinearImpl::BilinearImpl(const BilinearOptions& options) : options(options) { BilinearImpl::reset(); }
void BilinearImpl::reset() {
  weight =
      register_parameter("weight", empty({options.out_features(), options.in1_features(), options.in2_features()}));
  bias = options.bias() ? register_parameter("bias", empty({options.out_features()}))
                        : register_parameter("bias", {}, false);
  reset_parameters();
}
void BilinearImpl::reset_parameters() {
  if (options.in1_features() == 0) return;
  const double bound = 1 / std::sqrt(static_cast<double>(options.in1_features()));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}
TANDEM_PRINTED_AS(Bilinear, "in1_features=", options.in1_features(), ", in2_features=", options.in2_features(),
                  ", out_features=", options.out_features(), ", bias=", detail::word(options.bias()))
Tensor BilinearImpl::forward(const Tensor& input1, const Tensor& input2) {
  return bilinear(input1, input2, weight, bias);
}

TANDEM_PRINTED_AS(Identity)
Tensor IdentityImpl::forward(const Tensor& input) { return input; }

TANDEM_PRINTED_AS(Flatten, "start_dim=", options.start_dim(), ", end_dim=", options.end_dim())
Tensor FlattenImpl::forward(const Tensor& input) { return input.flatten(options.start_dim(), options.end_dim()); }

void UnflattenImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::Unflatten(dim=" << options.dim() << ", unflattened_size={";
  for (std::size_t i = 0; i < options.sizes().size(); ++i) stream << (i == 0 ? "" : ", ") << options.sizes()[i];
  stream << "})";
}
Tensor UnflattenImpl::forward(const Tensor& input) { return input.unflatten(options.dim(), options.sizes()); }

}  // namespace tandem::nn
