// conv_transpose2d: the gradient of conv2d with respect to its input, used forward.
#include <array>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/row_major.h"
#include "tandem/autograd/ops/nn/conv2d.h"
#include "tandem/autograd/ops/nn/conv_checks.h"
#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex_bilinear.h"
#include "tandem/core/backend/conv.h"

namespace tandem {
using namespace autograd;

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  if (const auto to = autocast::lower_precision(input))
    return conv_transpose2d(to(input), to(weight), to(bias), stride, padding, output_padding, groups, dilation);
  check_convolution("conv_transpose2d", input, weight, bias, groups, 2, true);
  if (input.is_complex()) {
    const Tensor out = complex_bilinear(input, weight, [&](const Tensor& x, const Tensor& w) {
      return conv_transpose2d(x, w, {}, stride, padding, output_padding, groups, dilation);
    });
    return bias.defined() ? out + bias.reshape({bias.size(0), 1, 1}) : out;
  }
  const bool batched = input.dim() == 4;
  const MemoryFormat format = convolution_format(input, weight);
  if (const RowMajor to(format); to && input.is_cpu())
    return to.restored(
        conv_transpose2d(to(input), to(weight), bias, stride, padding, output_padding, groups, dilation));
  const Conv2dParameters p = conv2d_parameters("conv_transpose2d", stride, padding, dilation, groups);
  std::array<int64_t, 2> extra;
  set_pair("conv_transpose2d", "output_padding", output_padding, 0, extra);
  Dims sizes = transposed_sizes("conv_transpose2d", input, weight, p.stride, p.padding, extra, p.dilation);
  sizes.insert(0, weight.size(1) * groups);
  sizes.insert(0, batched ? input.size(0) : 1);
  Tensor x = batched ? input : input.reshape({1, input.size(0), input.size(1), input.size(2)});
  // conv2d of the result has as many more elements than the input as strides fit into output_padding: these are zeros.
  const int64_t more[2] = {extra[0] / p.stride[0], extra[1] / p.stride[1]};
  if (more[0] + more[1] > 0) x = constant_pad_nd(x, {0, more[1], 0, more[0]});
  Tensor out = conv2d_backward_input(x.contiguous(format), weight.contiguous(format), sizes, p, format);
  if (bias.defined()) out = out + bias.reshape({1, bias.size(0), 1, 1});
  return batched ? out : out.view({sizes[1], sizes[2], sizes[3]});
}

}  // namespace tandem
