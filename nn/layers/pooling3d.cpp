// 3D and power-average pooling: functional forms and modules.
#include "tandem/nn/layers/pooling3d.h"

#include <ostream>

#include "tandem/autograd/ops/nn/pool2d.h"
#include "tandem/autograd/ops/nn/pool3d.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/nn/functional/pooling3d.h"

namespace tandem::nn::functional {
namespace {

std::array<int64_t, 3> sizes_of(const char* operation, const Tensor& input,
                                const ExpandingArrayWithOptionalElem<3>& size) {
  check(input.dim() == 4 || input.dim() == 5, operation, ": input must be [N, C, D, H, W] or [C, D, H, W], got ",
        input);
  return {size[0].value_or(input.size(-3)), size[1].value_or(input.size(-2)), size[2].value_or(input.size(-1))};
}

// (count mean)^(1 / p), where `mean` is that of x^p.
Tensor root(const Tensor& mean, int64_t count, double p) {
  const Tensor size = mean.sign() * mean.abs().relu();
  return (size * static_cast<double>(count)).pow(1 / p);
}

}  // namespace

Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& options) {
  return tandem::avg_pool3d(input, *options.kernel_size(), *options.stride(), *options.padding(), options.ceil_mode(),
                            options.count_include_pad(), options.divisor_override());
}
Tensor max_pool3d(const Tensor& input, const MaxPool3dFuncOptions& options) {
  return tandem::max_pool3d(input, *options.kernel_size(), *options.stride(), *options.padding(), *options.dilation(),
                            options.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input, const MaxPool3dFuncOptions& options) {
  return tandem::max_pool3d_with_indices(input, *options.kernel_size(), *options.stride(), *options.padding(),
                                         *options.dilation(), options.ceil_mode());
}
Tensor adaptive_avg_pool3d(const Tensor& input, const AdaptiveAvgPool3dFuncOptions& options) {
  return tandem::adaptive_avg_pool3d(input, sizes_of("adaptive_avg_pool3d", input, options.output_size()));
}
std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool3dFuncOptions& options) {
  return tandem::adaptive_max_pool3d(input, sizes_of("adaptive_max_pool3d", input, options.output_size()));
}
Tensor adaptive_max_pool3d(const Tensor& input, const AdaptiveMaxPool3dFuncOptions& options) {
  return std::get<0>(adaptive_max_pool3d_with_indices(input, options));
}
Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& options) {
  const double p = options.norm_type();
  const Tensor mean =
      tandem::avg_pool1d(input.pow(p), *options.kernel_size(), *options.stride(), 0, options.ceil_mode());
  return root(mean, options.kernel_size()[0], p);
}
Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& options) {
  const double p = options.norm_type();
  const auto& k = *options.kernel_size();
  return root(tandem::avg_pool2d(input.pow(p), k, *options.stride(), 0, options.ceil_mode()), k[0] * k[1], p);
}
Tensor lp_pool3d(const Tensor& input, const LPPool3dFuncOptions& options) {
  const double p = options.norm_type();
  const auto& k = *options.kernel_size();
  return root(tandem::avg_pool3d(input.pow(p), k, *options.stride(), 0, options.ceil_mode()), k[0] * k[1] * k[2], p);
}

}  // namespace tandem::nn::functional

namespace tandem::nn {
namespace {

template <std::size_t D>
void print(std::ostream& stream, const LPPoolOptions<D>& options) {
  stream << concat("tandem::nn::LPPool", D, "d(norm_type=", options.norm_type(),
                   ", kernel_size=", options.kernel_size(), ", stride=", options.stride(),
                   ", ceil_mode=", options.ceil_mode(), ")");
}

}  // namespace

Tensor AvgPool3dImpl::forward(const Tensor& input) { return functional::avg_pool3d(input, options); }
void AvgPool3dImpl::pretty_print(std::ostream& stream) const {
  stream << concat("tandem::nn::AvgPool3d(kernel_size=", options.kernel_size(), ", stride=", options.stride(),
                   ", padding=", options.padding(), ")");
}
Tensor MaxPool3dImpl::forward(const Tensor& input) { return functional::max_pool3d(input, options); }
std::tuple<Tensor, Tensor> MaxPool3dImpl::forward_with_indices(const Tensor& input) {
  return functional::max_pool3d_with_indices(input, options);
}
void MaxPool3dImpl::pretty_print(std::ostream& stream) const {
  stream << concat("tandem::nn::MaxPool3d(kernel_size=", options.kernel_size(), ", stride=", options.stride(),
                   ", padding=", options.padding(), ", dilation=", options.dilation(),
                   ", ceil_mode=", options.ceil_mode(), ")");
}
Tensor AdaptiveAvgPool3dImpl::forward(const Tensor& input) { return functional::adaptive_avg_pool3d(input, options); }
void AdaptiveAvgPool3dImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AdaptiveAvgPool3d(output_size=" << options.output_size() << ")";
}
Tensor AdaptiveMaxPool3dImpl::forward(const Tensor& input) { return functional::adaptive_max_pool3d(input, options); }
std::tuple<Tensor, Tensor> AdaptiveMaxPool3dImpl::forward_with_indices(const Tensor& input) {
  return functional::adaptive_max_pool3d_with_indices(input, options);
}
void AdaptiveMaxPool3dImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AdaptiveMaxPool3d(output_size=" << options.output_size() << ")";
}
Tensor LPPool1dImpl::forward(const Tensor& input) { return functional::lp_pool1d(input, options); }
void LPPool1dImpl::pretty_print(std::ostream& stream) const { print(stream, options); }
Tensor LPPool2dImpl::forward(const Tensor& input) { return functional::lp_pool2d(input, options); }
void LPPool2dImpl::pretty_print(std::ostream& stream) const { print(stream, options); }
Tensor LPPool3dImpl::forward(const Tensor& input) { return functional::lp_pool3d(input, options); }
void LPPool3dImpl::pretty_print(std::ostream& stream) const { print(stream, options); }

}  // namespace tandem::nn
