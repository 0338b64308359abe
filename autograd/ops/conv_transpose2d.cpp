// conv_transpose2d: the gradient of conv2d with respect to its input, used forward.
#include <algorithm>

#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/autocast_lists.h"
#include "tandem/autograd/ops/checks.h"
#include "tandem/autograd/ops/complex_bilinear.h"
#include "tandem/autograd/ops/conv2d.h"
#include "tandem/autograd/ops/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/conv.h"
#include "tandem/core/checked_sizes.h"

namespace tandem {
namespace {
using namespace autograd;

void check_conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t groups) {
  check((input.dim() == 3 || input.dim() == 4) && weight.dim() == 4,
        "conv_transpose2d: expected input [N, C, H, W] or [C, H, W] and weight [C, O / groups, height, "
        "width]\n  input  ",
        input, "\n  weight ", weight);
  check(input.size(-3) == weight.size(0), "conv_transpose2d: weight expects ", weight.size(0),
        " input channels, input has ", input.size(-3), "\n  input  ", input, "\n  weight ", weight);
  check(groups >= 1 && weight.size(0) % groups == 0, "conv_transpose2d: groups ", groups,
        " does not divide the ", weight.size(0), " input channels\n  weight ", weight);
  check(weight.size(2) >= 1 && weight.size(3) >= 1, "conv_transpose2d: the kernel is empty\n  weight ",
        weight);
  check_alike("conv_transpose2d", "input ", input, "weight", weight);
  if (!bias.defined()) return;
  check(bias.dim() == 1 && bias.size(0) == weight.size(1) * groups, "conv_transpose2d: bias must be [",
        weight.size(1) * groups, "]\n  weight ", weight, "\n  bias   ", bias);
  check_alike("conv_transpose2d", "weight", weight, "bias  ", bias);
}

}  // namespace

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                        IntArrayRef dilation) {
  if (autocast::is_on(input))
    return autocast::lower_precision(
        [&](const Tensor& t1, const Tensor& t2, const Tensor& t3) {
          return conv_transpose2d(t1, t2, t3, stride, padding, output_padding, groups, dilation);
        },
        input, weight, bias);
  check_conv_transpose2d(input, weight, bias, groups);
  if (input.is_complex()) {
    const Tensor out = complex_bilinear(input, weight, [&](const Tensor& x, const Tensor& w) {
      return conv_transpose2d(x, w, {}, stride, padding, output_padding, groups, dilation);
    });
    return bias.defined() ? out + bias.reshape({bias.size(0), 1, 1}) : out;
  }
  const Conv2dParameters p = conv2d_parameters("conv_transpose2d", stride, padding, dilation, groups);
  std::array<int64_t, 2> extra;
  set_pair("conv_transpose2d", "output_padding", output_padding, 0, extra);
  const bool batched = input.dim() == 4;
  Dims sizes{batched ? input.size(0) : 1, weight.size(1) * groups, 0, 0};
  for (int d = 0; d < 2; ++d) {
    check(extra[d] < p.stride[d], "conv_transpose2d: output_padding ", output_padding,
          " must be less than the stride ", stride);
    const int64_t in = input.size(d - 2);
    const int64_t steps = multiply_sizes("conv_transpose2d", std::max<int64_t>(in - 1, 0), p.stride[d]);
    const int64_t reach = multiply_sizes("conv_transpose2d", p.dilation[d], weight.size(d + 2) - 1);
    const int64_t size = add_sizes("conv_transpose2d", steps, reach) - 2 * p.padding[d] + extra[d] + 1;
    check(in >= 1 && size >= 1, "conv_transpose2d: the output would be empty\n  input  ", input,
          "\n  weight ", weight, "\n  padding ", padding);
    sizes[static_cast<std::size_t>(d + 2)] = size;
  }
  const Tensor x = batched ? input : input.reshape({1, input.size(0), input.size(1), input.size(2)});
  Tensor out = conv2d_backward_input(x.contiguous(), weight.contiguous(), sizes, p);
  if (bias.defined()) out = out + bias.reshape({1, bias.size(0), 1, 1});
  return batched ? out : out.view({sizes[1], sizes[2], sizes[3]});
}

}  // namespace tandem
