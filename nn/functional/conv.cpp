// Functional forms of convolutions.
#include "tandem/nn/functional/conv.h"

#include "tandem/autograd/ops/conv2d.h"

namespace tandem::nn::functional {

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options) {
  if (!options.padding().is_same())
    return tandem::conv1d(input, weight, options.bias(), *options.stride(), *options.padding().values(),
                          *options.dilation(), options.groups());
  // Computed as conv2d on an image with one row.
  check(weight.dim() == 3, "conv1d: weight must be [out, C / groups, kernel], got ", weight);
  const int64_t stride[2] = {1, options.stride()[0]}, dilation[2] = {1, options.dilation()[0]};
  return tandem::conv2d(input.unsqueeze(-2), weight.unsqueeze(-2), options.bias(), IntArrayRef(stride, 2),
                        "same", IntArrayRef(dilation, 2), options.groups())
      .squeeze(-2);
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options) {
  if (options.padding().is_same())
    return tandem::conv2d(input, weight, options.bias(), *options.stride(), "same", *options.dilation(),
                          options.groups());
  return tandem::conv2d(input, weight, options.bias(), *options.stride(), *options.padding().values(),
                        *options.dilation(), options.groups());
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose2dFuncOptions& options) {
  return tandem::conv_transpose2d(input, weight, options.bias(), *options.stride(), *options.padding(),
                                  *options.output_padding(), options.groups(), *options.dilation());
}

}  // namespace tandem::nn::functional
