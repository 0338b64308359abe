// AvgPool2d, MaxPool2d, AdaptiveAvgPool2d.
#include "tandem/nn/layers/pooling.h"

#include <ostream>

#include "tandem/nn/functional/pooling.h"

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

Tensor AdaptiveAvgPool2dImpl::forward(const Tensor& input) {
  return functional::adaptive_avg_pool2d(input, options);
}
void AdaptiveAvgPool2dImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AdaptiveAvgPool2d(output_size=[";
  for (std::size_t d = 0; d < 2; ++d) {
    if (d != 0) stream << ", ";
    if (const auto& size = options.output_size()[d])
      stream << *size;
    else
      stream << "None";
  }
  stream << "])";
}

}  // namespace tandem::nn
