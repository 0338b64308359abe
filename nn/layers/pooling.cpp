// Pooling: functional forms and modules.
#include "tandem/nn/layers/pooling.h"

#include <ostream>

#include "tandem/autograd/ops/nn/pool2d.h"
#include "tandem/nn/functional/pooling.h"
#include "tandem/nn/layers/pooling1d.h"

namespace tandem::nn::functional {

Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options) {
  return tandem::avg_pool2d(input, *options.kernel_size(), *options.stride(), *options.padding(), options.ceil_mode(),
                            options.count_include_pad(), options.divisor_override());
}
Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options) {
  return tandem::max_pool2d(input, *options.kernel_size(), *options.stride(), *options.padding(), *options.dilation(),
                            options.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& options) {
  return tandem::max_pool2d_with_indices(input, *options.kernel_size(), *options.stride(), *options.padding(),
                                         *options.dilation(), options.ceil_mode());
}
Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options) {
  check(input.dim() >= 2, "adaptive_avg_pool2d: input must be [N, C, H, W] or [C, H, W], got ", input);
  const int64_t size[2] = {options.output_size()[0].value_or(input.size(-2)),
                           options.output_size()[1].value_or(input.size(-1))};
  return tandem::adaptive_avg_pool2d(input, IntArrayRef(size, 2));
}

std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool2dFuncOptions& options) {
  check(input.dim() >= 2, "adaptive_max_pool2d: input must be [N, C, H, W] or [C, H, W], got ", input);
  const int64_t size[2] = {options.output_size()[0].value_or(input.size(-2)),
                           options.output_size()[1].value_or(input.size(-1))};
  return tandem::adaptive_max_pool2d(input, IntArrayRef(size, 2));
}
Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options) {
  return std::get<0>(adaptive_max_pool2d_with_indices(input, options));
}
Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& options) {
  return tandem::avg_pool1d(input, *options.kernel_size(), *options.stride(), *options.padding(), options.ceil_mode(),
                            options.count_include_pad());
}
Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& options) {
  return tandem::max_pool1d(input, *options.kernel_size(), *options.stride(), *options.padding(), *options.dilation(),
                            options.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const MaxPool1dFuncOptions& options) {
  return tandem::max_pool1d_with_indices(input, *options.kernel_size(), *options.stride(), *options.padding(),
                                         *options.dilation(), options.ceil_mode());
}
Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& options) {
  return tandem::adaptive_avg_pool1d(input, *options.output_size());
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool1dFuncOptions& options) {
  return tandem::adaptive_max_pool1d(input, *options.output_size());
}
Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& options) {
  return std::get<0>(tandem::adaptive_max_pool1d(input, *options.output_size()));
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

Tensor AvgPool2dImpl::forward(const Tensor& input) { return functional::avg_pool2d(input, options); }
void AvgPool2dImpl::pretty_print(std::ostream& stream) const {
  stream << concat("tandem::nn::AvgPool2d(kernel_size=", options.kernel_size(), ", stride=", options.stride(),
                   ", padding=", options.padding(), ")");
}

Tensor MaxPool2dImpl::forward(const Tensor& input) { return functional::max_pool2d(input, options); }
std::tuple<Tensor, Tensor> MaxPool2dImpl::forward_with_indices(const Tensor& input) {
  return functional::max_pool2d_with_indices(input, options);
}
void MaxPool2dImpl::pretty_print(std::ostream& stream) const {
  stream << concat("tandem::nn::MaxPool2d(kernel_size=", options.kernel_size(), ", stride=", options.stride(),
                   ", padding=", options.padding(), ", dilation=", options.dilation(),
                   ", ceil_mode=", options.ceil_mode(), ")");
}

Tensor AdaptiveAvgPool2dImpl::forward(const Tensor& input) { return functional::adaptive_avg_pool2d(input, options); }
void AdaptiveAvgPool2dImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AdaptiveAvgPool2d(output_size=" << options.output_size() << ")";
}

Tensor AvgPool1dImpl::forward(const Tensor& input) { return functional::avg_pool1d(input, options); }
void AvgPool1dImpl::pretty_print(std::ostream& stream) const {
  stream << concat("tandem::nn::AvgPool1d(kernel_size=", options.kernel_size(), ", stride=", options.stride(),
                   ", padding=", options.padding(), ")");
}
Tensor MaxPool1dImpl::forward(const Tensor& input) { return functional::max_pool1d(input, options); }
std::tuple<Tensor, Tensor> MaxPool1dImpl::forward_with_indices(const Tensor& input) {
  return functional::max_pool1d_with_indices(input, options);
}
void MaxPool1dImpl::pretty_print(std::ostream& stream) const {
  stream << concat("tandem::nn::MaxPool1d(kernel_size=", options.kernel_size(), ", stride=", options.stride(),
                   ", padding=", options.padding(), ", dilation=", options.dilation(),
                   ", ceil_mode=", options.ceil_mode(), ")");
}
Tensor AdaptiveAvgPool1dImpl::forward(const Tensor& input) { return functional::adaptive_avg_pool1d(input, options); }
void AdaptiveAvgPool1dImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AdaptiveAvgPool1d(output_size=" << concat(options.output_size()) << ")";
}
Tensor AdaptiveMaxPool1dImpl::forward(const Tensor& input) { return functional::adaptive_max_pool1d(input, options); }
std::tuple<Tensor, Tensor> AdaptiveMaxPool1dImpl::forward_with_indices(const Tensor& input) {
  return functional::adaptive_max_pool1d_with_indices(input, options);
}
void AdaptiveMaxPool1dImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AdaptiveMaxPool1d(output_size=" << concat(options.output_size()) << ")";
}
Tensor AdaptiveMaxPool2dImpl::forward(const Tensor& input) { return functional::adaptive_max_pool2d(input, options); }
void AdaptiveMaxPool2dImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AdaptiveMaxPool2d(output_size=" << options.output_size() << ")";
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool2dImpl::forward_with_indices(const Tensor& input) {
  return functional::adaptive_max_pool2d_with_indices(input, options);
}

}  // namespace tandem::nn
