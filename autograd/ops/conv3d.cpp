// conv3d as conv2d: the windows along the depth become channels, (channel, place in the window), and the depth becomes part
// of the batch. conv_transpose3d is the reverse: conv_transpose2d makes the channels (channel, place in the window),
// which are added at their depths. conv_transpose1d is conv_transpose2d of images with one row.
#include "tandem/autograd/ops/conv3d.h"

#include <array>

#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/autocast_lists.h"
#include "tandem/autograd/ops/checks.h"
#include "tandem/autograd/ops/conv2d.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/pad.h"
#include "tandem/autograd/ops/precision.h"
#include "tandem/autograd/ops/triple.h"
#include "tandem/autograd/ops/view.h"
#include "tandem/core/checked_sizes.h"

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

// What conv2d and conv_transpose2d would check, with messages that name the caller's tensors.
void check_arguments(const char* operation, const Tensor& input, const Tensor& weight, const Tensor& bias,
                     int64_t groups, bool transposed) {
  check((input.dim() == 4 || input.dim() == 5) && weight.dim() == 5, operation,
        ": expected input [N, C, D, H, W] or [C, D, H, W] and weight ",
        transposed ? "[C, O / groups, " : "[O, C / groups, ", "depth, height, width]\n  input  ", input,
        "\n  weight ", weight);
  check(groups >= 1 && weight.size(0) % groups == 0, operation, ": groups ", groups, " does not divide the ",
        weight.size(0), transposed ? " input" : " output", " channels\n  weight ", weight);
  const int64_t channels = transposed ? weight.size(0) : weight.size(1) * groups;
  check(input.size(-4) == channels, operation, ": weight expects ", channels, " input channels, input has ",
        input.size(-4), "\n  input  ", input, "\n  weight ", weight);
  for (int d = 2; d < 5; ++d)
    check(weight.size(d) >= 1, operation, ": the kernel is empty\n  weight ", weight);
  autograd::check_alike(operation, "input ", input, "weight", weight);
  if (!bias.defined()) return;
  const int64_t out = transposed ? weight.size(1) * groups : weight.size(0);
  check(bias.dim() == 1 && bias.size(0) == out, operation, ": bias must be [", out, "]\n  weight ", weight,
        "\n  bias   ", bias);
  autograd::check_alike(operation, "weight", weight, "bias  ", bias);
}

Tensor convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, const Parameters& p) {
  const int64_t n = input.size(0), channels = input.size(1), kernel = weight.size(2);
  const int64_t padded = add_sizes("conv3d", input.size(2), 2 * p.padding[0]);
  const int64_t reach = multiply_sizes("conv3d", p.dilation[0], kernel - 1);
  check(padded > reach, "conv3d: the depth of the kernel, dilated, is ", reach,
        " + 1, that of the input, padded, is ", padded, "\n  input  ", input, "\n  weight ", weight);
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

// The sizes of the result: also a check that none is negative.
Triple transposed_sizes(const Tensor& input, const Tensor& weight, const Parameters& p, const Triple& extra) {
  Triple sizes;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto dim = static_cast<int64_t>(d) + 2;
    check(extra[d] < p.stride[d] || extra[d] < p.dilation[d],
          "conv_transpose3d: output_padding must be less than the stride or the dilation, got ", extra[d],
          " in dimension ", dim);
    check(input.size(dim) >= 1, "conv_transpose3d: the input is empty\n  input  ", input);
    const int64_t steps = multiply_sizes("conv_transpose3d", input.size(dim) - 1, p.stride[d]);
    const int64_t reach = multiply_sizes("conv_transpose3d", p.dilation[d], weight.size(dim) - 1);
    sizes[d] = add_sizes("conv_transpose3d", steps, reach) + 1 + extra[d] - 2 * p.padding[d];
    check(sizes[d] >= 1, "conv_transpose3d: the output would be empty\n  input  ", input, "\n  weight ",
          weight);
  }
  return sizes;
}

Tensor convolve_transposed(const Tensor& input, const Tensor& weight, const Tensor& bias, const Parameters& p,
                           const Triple& extra) {
  const int64_t n = input.size(0), depth = input.size(2), kernel = weight.size(2);
  const Triple sizes = transposed_sizes(input, weight, p, extra);
  const Tensor x = input.transpose(1, 2).reshape(
      {multiply_sizes("conv_transpose3d", n, depth), input.size(1), input.size(3), input.size(4)});
  const Tensor w = weight.reshape({weight.size(0), weight.size(1) * kernel, weight.size(3), weight.size(4)});
  // conv_transpose2d allows only an output padding below the stride: more is a border of zeros.
  std::array<int64_t, 2> inner, border;
  for (std::size_t d = 0; d < 2; ++d) {
    inner[d] = std::min(extra[d + 1], p.stride[d + 1] - 1);
    border[d] = extra[d + 1] - inner[d];
  }
  Tensor y =
      conv_transpose2d(x, w, {}, plane(p.stride), plane(p.padding), inner, p.groups, plane(p.dilation));
  if (border[0] > 0 || border[1] > 0) y = constant_pad_nd(y, {0, border[1], 0, border[0]});
  const int64_t out = weight.size(1) * p.groups;
  y = y.reshape({n, depth, out, kernel, sizes[1], sizes[2]});
  const int64_t whole = add_sizes("conv_transpose3d", sizes[0], 2 * p.padding[0]);
  Tensor sum = zeros({n, out, whole, sizes[1], sizes[2]}, input.options().requires_grad(false));
  for (int64_t k = 0; k < kernel; ++k) {
    const int64_t first = k * p.dilation[0];
    sum.slice(2, first, first + (depth - 1) * p.stride[0] + 1, p.stride[0])
        .add_(y.select(3, k).transpose(1, 2));
  }
  if (p.padding[0] > 0) sum = sum.narrow(2, p.padding[0], sizes[0]).contiguous();
  return bias.defined() ? sum + bias.reshape({1, out, 1, 1, 1}) : sum;
}

// The dimension of one row for a 1D argument.
Tensor one_row(const Tensor& t) { return t.unsqueeze(-2); }

int64_t single(const char* what, IntArrayRef value) {
  check(value.size() == 1, "conv_transpose1d: ", what, " takes one number, got ", value);
  return value[0];
}

}  // namespace

Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  if (const auto out = autograd::in_lower_precision(
          [&](const Tensor& t1, const Tensor& t2, const Tensor& t3) {
            return conv3d(t1, t2, t3, stride, padding, dilation, groups);
          },
          input, weight, bias))
    return *out;
  check_arguments("conv3d", input, weight, bias, groups, false);
  const Parameters p = parameters("conv3d", stride, padding, dilation, groups);
  return input.dim() == 5 ? convolve(input, weight, bias, p)
                          : convolve(input.unsqueeze(0), weight, bias, p).squeeze(0);
}

Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                        IntArrayRef dilation) {
  if (const auto out = autograd::in_lower_precision(
          [&](const Tensor& t1, const Tensor& t2, const Tensor& t3) {
            return conv_transpose3d(t1, t2, t3, stride, padding, output_padding, groups, dilation);
          },
          input, weight, bias))
    return *out;
  check_arguments("conv_transpose3d", input, weight, bias, groups, true);
  const Parameters p = parameters("conv_transpose3d", stride, padding, dilation, groups);
  const Triple extra = triple("conv_transpose3d", "output_padding", output_padding, 0);
  return input.dim() == 5 ? convolve_transposed(input, weight, bias, p, extra)
                          : convolve_transposed(input.unsqueeze(0), weight, bias, p, extra).squeeze(0);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, int64_t groups,
                        IntArrayRef dilation) {
  if (autocast::is_on(input))
    return autocast::lower_precision(
        [&](const Tensor& t1, const Tensor& t2, const Tensor& t3) {
          return conv_transpose1d(t1, t2, t3, stride, padding, output_padding, groups, dilation);
        },
        input, weight, bias);
  check((input.dim() == 2 || input.dim() == 3) && weight.dim() == 3,
        "conv_transpose1d: expected input [N, C, L] or [C, L] and weight [C, O / groups, length]\n  input  ",
        input, "\n  weight ", weight);
  const int64_t step = single("stride", stride), pad = single("padding", padding),
                apart = single("dilation", dilation), extra = single("output_padding", output_padding);
  return conv_transpose2d(one_row(input), one_row(weight), bias, {1, step}, {0, pad}, {0, extra}, groups,
                          {1, apart})
      .squeeze(-2);
}

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                   int64_t groups) {
  if (autocast::is_on(input))
    return autocast::lower_precision(
        [&](const Tensor& t1, const Tensor& t2, const Tensor& t3) {
          return convolution(t1, t2, t3, stride, padding, dilation, transposed, output_padding, groups);
        },
        input, weight, bias);
  const int64_t rank = weight.dim() - 2;
  check(rank >= 1 && rank <= 3, "convolution: expected a weight with 3, 4 or 5 dimensions, got ", weight);
  if (!transposed)
    return rank == 1   ? conv1d(input, weight, bias, stride, padding, dilation, groups)
           : rank == 2 ? conv2d(input, weight, bias, stride, padding, dilation, groups)
                       : conv3d(input, weight, bias, stride, padding, dilation, groups);
  return rank == 1 ? conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation)
         : rank == 2
             ? conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)
             : conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation);
}

namespace autograd {

Tensor conv3d_padded(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                     std::string_view padding, IntArrayRef dilation, int64_t groups) {
  if (padding == "valid") return conv3d(input, weight, bias, stride, 0, dilation, groups);
  check(padding == "same", "conv3d: padding is \"valid\", \"same\" or numbers, got \"", padding, "\"");
  check_arguments("conv3d", input, weight, bias, groups, false);
  const Parameters p = parameters("conv3d", stride, 0, dilation, groups);
  check(p.stride == Triple{1, 1, 1}, "conv3d: padding \"same\" goes with stride 1, got ", stride);
  Triple before;
  std::array<int64_t, 6> uneven{};
  for (std::size_t d = 0; d < 3; ++d) {
    const int64_t total =
        multiply_sizes("conv3d", p.dilation[d], weight.size(static_cast<int64_t>(d) + 2) - 1);
    before[d] = total / 2;
    uneven[2 * (2 - d) + 1] = total % 2;  // one more after the input than before it
  }
  const bool even = uneven[1] + uneven[3] + uneven[5] == 0;
  return conv3d(even ? input : constant_pad_nd(input, uneven), weight, bias, 1, before, dilation, groups);
}

}  // namespace autograd

}  // namespace tandem
