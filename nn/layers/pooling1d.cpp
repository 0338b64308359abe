// One-dimensional pooling; AdaptiveMaxPool2d.
#include "tandem/nn/layers/pooling1d.h"

#include <ostream>

#include "tandem/nn/functional/pooling.h"

namespace tandem::nn {

Tensor AvgPool1dImpl::forward(const Tensor& input) { return functional::avg_pool1d(input, options); }
void AvgPool1dImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AvgPool1d(kernel_size=" << concat(options.kernel_size()) << ")";
}
Tensor MaxPool1dImpl::forward(const Tensor& input) { return functional::max_pool1d(input, options); }
void MaxPool1dImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::MaxPool1d(kernel_size=" << concat(options.kernel_size()) << ")";
}
Tensor AdaptiveAvgPool1dImpl::forward(const Tensor& input) {
  return functional::adaptive_avg_pool1d(input, options);
}
void AdaptiveAvgPool1dImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AdaptiveAvgPool1d(output_size=" << concat(options.output_size()) << ")";
}
Tensor AdaptiveMaxPool1dImpl::forward(const Tensor& input) {
  return functional::adaptive_max_pool1d(input, options);
}
void AdaptiveMaxPool1dImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AdaptiveMaxPool1d(output_size=" << concat(options.output_size()) << ")";
}
Tensor AdaptiveMaxPool2dImpl::forward(const Tensor& input) {
  return functional::adaptive_max_pool2d(input, options);
}
void AdaptiveMaxPool2dImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AdaptiveMaxPool2d()";
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool2dImpl::forward_with_indices(const Tensor& input) {
  return functional::adaptive_max_pool2d_with_indices(input, options);
}

}  // namespace tandem::nn
