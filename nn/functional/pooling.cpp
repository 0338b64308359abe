// Functional forms of pooling.
#include "tandem/nn/functional/pooling.h"

#include "tandem/autograd/ops/pool2d.h"

namespace tandem::nn::functional {

Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options) {
  return tandem::avg_pool2d(input, *options.kernel_size(), *options.stride(), *options.padding(),
                            options.ceil_mode(), options.count_include_pad(), options.divisor_override());
}
Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options) {
  return tandem::max_pool2d(input, *options.kernel_size(), *options.stride(), *options.padding(),
                            *options.dilation(), options.ceil_mode());
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
  return tandem::avg_pool1d(input, *options.kernel_size(), *options.stride(), *options.padding(),
                            options.ceil_mode(), options.count_include_pad());
}
Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& options) {
  return tandem::max_pool1d(input, *options.kernel_size(), *options.stride(), *options.padding(),
                            *options.dilation(), options.ceil_mode());
}
Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& options) {
  return tandem::adaptive_avg_pool1d(input, *options.output_size());
}
Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& options) {
  return std::get<0>(tandem::adaptive_max_pool1d(input, *options.output_size()));
}

}  // namespace tandem::nn::functional
