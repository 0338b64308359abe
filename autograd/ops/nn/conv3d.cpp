// conv3d as conv2d: the windows along the depth become channels, (channel, place in the window), and the depth becomes
// part of the batch. conv_transpose3d is the reverse: conv_transpose2d makes the channels (channel, place in the
// window), which are added at their depths. conv_transpose1d is conv_transpose2d of images with one row.
#include "tandem/autograd/ops/nn/conv3d.h"

#include <array>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/detail/row_major.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/nn/conv2d.h"
#include "tandem/autograd/ops/nn/conv_checks.h"
#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/autograd/ops/nn/triple.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem {
namespace {

using autograd::triple;
using autograd::Triple;

struct Parameters {
  Triple stride, padding, dilation;
  int64_t groups;
};
Parameters parameters(const char* operation, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                      int64_t groups) {
  return {triple(operation, "stride", stride, 1), triple(operation, "padding", padding, 0),
          triple(operation, "dilation", dilation, 1), groups};
}
std::array<int64_t, 2> plane(const Triple& t) { return {t[1], t[2]}; }

Tensor convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, const Parameters& p) {
  const int64_t n = input.size(0), channels = input.size(1), kernel = weight.size(2);
  autograd::check_kernel_fits("conv3d", input, weight, 2, p.padding[0], p.dilation[0]);
  const int64_t reach = p.dilation[0] * (kernel - 1);
  Tensor x = p.padding[0] == 0 ? input : constant_pad_nd(input, {0, 0, 0, 0, p.padding[0], p.padding[0]});
  x = x.unfold(2, reach + 1, p.stride[0]);  // [N, C, depth, H, W, window]
  if (p.dilation[0] > 1) x = x.slice(-1, nullopt, nullopt, p.dilation[0]);
  const int64_t depth = x.size(2);
  x = x.permute({0, 2, 1, 5, 3, 4})
          .reshape({multiply_sizes("conv3d", n, depth), channels * kernel, input.size(3), input.size(4)});
  const Tensor w = weight.reshape({weight.size(0), weight.size(1) * kernel, weight.size(3), weight.size(4)});
  const Tensor y = conv2d(x, w, bias, plane(p.stride), plane(p.padding), plane(p.dilation), p.groups);
  return y.reshape({n, depth, y.size(1), y.size(2), y.size(3)}).transpose(1, 2).contiguous();
}

Tensor convolve_transposed(const Tensor& input, const Tensor& weight, const Tensor& bias, const Parameters& p,
                           const Triple& extra) {
  const int64_t n = input.size(0), depth = input.size(2), kernel = weight.size(2);
  const Dims sizes =
      autograd::transposed_sizes("conv_transpose3d", input, weight, p.stride, p.padding, extra, p.dilation);
  const Tensor x = input.transpose(1, 2).reshape(
      {multiply_sizes("conv_transpose3d", n, depth), input.size(1), input.size(3), input.size(4)});
  const Tensor w = weight.reshape({weight.size(0), weight.size(1) * kernel, weight.size(3), weight.size(4)});
  Tensor y = conv_transpose2d(x, w, {}, plane(p.stride), plane(p.padding), plane(extra), p.groups, plane(p.dilation));
  const int64_t out = weight.size(1) * p.groups;
  y = y.reshape({n, depth, out, kernel, sizes[1], sizes[2]});
  const int64_t whole = add_sizes("conv_transpose3d", sizes[0], 2 * p.padding[0]);
  Tensor sum = zeros({n, out, whole, sizes[1], sizes[2]}, input.options().requires_grad(false));
  for (int64_t k = 0; k < kernel; ++k) {
    const int64_t first = k * p.dilation[0];
    sum.slice(2, first, first + (depth - 1) * p.stride[0] + 1, p.stride[0]).add_(y.select(3, k).transpose(1, 2));
  }
  if (p.padding[0] > 0) sum = sum.narrow(2, p.padding[0], sizes[0]).contiguous();
  return bias.defined() ? sum + bias.reshape({1, out, 1, 1, 1}) : sum;
}

// The dimension of one row for a 1D argument.
Tensor one_row(const Tensor& t) { return t.unsqueeze(-2); }

}  // namespace

Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
              IntArrayRef dilation, int64_t groups) {
  if (const auto to = autograd::in_lower_precision(input, weight, bias))
    return to.rounded(conv3d(to(input), to(weight), to(bias), stride, padding, dilation, groups));
  autograd::check_convolution("conv3d", input, weight, bias, groups, 3, false);
  if (const autograd::RowMajor to(autograd::convolution_format(input, weight)); to)
    return to.restored(conv3d(to(input), to(weight), bias, stride, padding, dilation, groups));
  const Parameters p = parameters("conv3d", stride, padding, dilation, groups);
  return input.dim() == 5 ? convolve(input, weight, bias, p) : convolve(input.unsqueeze(0), weight, bias, p).squeeze(0);
}

Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  if (const auto to = autograd::in_lower_precision(input, weight, bias))
    return to.rounded(
        conv_transpose3d(to(input), to(weight), to(bias), stride, padding, output_padding, groups, dilation));
  autograd::check_convolution("conv_transpose3d", input, weight, bias, groups, 3, true);
  if (const autograd::RowMajor to(autograd::convolution_format(input, weight)); to)
    return to.restored(
        conv_transpose3d(to(input), to(weight), bias, stride, padding, output_padding, groups, dilation));
  const Parameters p = parameters("conv_transpose3d", stride, padding, dilation, groups);
  const Triple extra = triple("conv_transpose3d", "output_padding", output_padding, 0);
  return input.dim() == 5 ? convolve_transposed(input, weight, bias, p, extra)
                          : convolve_transposed(input.unsqueeze(0), weight, bias, p, extra).squeeze(0);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  if (const auto to = autocast::lower_precision(input))
    return conv_transpose1d(to(input), to(weight), to(bias), stride, padding, output_padding, groups, dilation);
  autograd::check_convolution("conv_transpose1d", input, weight, bias, groups, 1, true);
  constexpr const char* kName = "conv_transpose1d";
  const int64_t step = autograd::single(kName, "stride", stride, 1),
                pad = autograd::single(kName, "padding", padding, 0),
                apart = autograd::single(kName, "dilation", dilation, 1),
                extra = autograd::single(kName, "output_padding", output_padding, 0);
  autograd::transposed_sizes(kName, input, weight, stride, padding, output_padding, dilation);
  return conv_transpose2d(one_row(input.contiguous()), one_row(weight.contiguous()), bias, {1, step}, {0, pad},
                          {0, extra}, groups, {1, apart})
      .squeeze(-2);
}

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                   int64_t groups) {
  if (const auto to = autocast::lower_precision_or_unchanged(input))
    return convolution(to(input), to(weight), to(bias), stride, padding, dilation, transposed, output_padding, groups);
  const int64_t rank = weight.dim() - 2;
  check(rank >= 1 && rank <= 3, "convolution: expected a weight with 3, 4 or 5 dimensions, got ", weight);
  if (!transposed)
    return rank == 1   ? conv1d(input, weight, bias, stride, padding, dilation, groups)
           : rank == 2 ? conv2d(input, weight, bias, stride, padding, dilation, groups)
                       : conv3d(input, weight, bias, stride, padding, dilation, groups);
  return rank == 1   ? conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation)
         : rank == 2 ? conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)
                     : conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation);
}

namespace autograd {

Tensor conv3d_padded(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                     std::string_view padding, IntArrayRef dilation, int64_t groups) {
  if (const auto to = autocast::lower_precision(input))
    return conv3d_padded(to(input), to(weight), to(bias), stride, padding, dilation, groups);
  if (padding == "valid") return conv3d(input, weight, bias, stride, 0, dilation, groups);
  check(padding == "same", "conv3d: padding is \"valid\", \"same\" or numbers, got \"", padding, "\"");
  autograd::check_convolution("conv3d", input, weight, bias, groups, 3, false);
  const Parameters p = parameters("conv3d", stride, 0, dilation, groups);
  check(p.stride == Triple{1, 1, 1}, "conv3d: padding \"same\" goes with stride 1, got ", stride);
  Triple before;
  std::array<int64_t, 6> uneven{};
  for (std::size_t d = 0; d < 3; ++d) {
    const int64_t total = multiply_sizes("conv3d", p.dilation[d], weight.size(static_cast<int64_t>(d) + 2) - 1);
    before[d] = total / 2;
    uneven[2 * (2 - d) + 1] = total % 2;  // one more after the input than before it
  }
  const bool even = uneven[1] + uneven[3] + uneven[5] == 0;
  return conv3d(even ? input : constant_pad_nd(input, uneven), weight, bias, 1, before, dilation, groups);
}

}  // namespace autograd

}  // namespace tandem
