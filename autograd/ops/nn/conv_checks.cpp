// Checks and sizes that convolutions of 1, 2 and 3 dimensions share.
#include "tandem/autograd/ops/nn/conv_checks.h"

#include <cstdint>
#include <string>

#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem::autograd {

void check_convolution(const char* operation, const Tensor& input, const Tensor& weight, const Tensor& bias,
                       int64_t groups, int64_t rank, bool transposed) {
  static constexpr const char* kInputs[] = {"[N, C, L] or [C, L]", "[N, C, H, W] or [C, H, W]",
                                            "[N, C, D, H, W] or [C, D, H, W]"};
  static constexpr const char* kKernels[] = {"length", "height, width", "depth, height, width"};
  check((input.dim() == rank + 1 || input.dim() == rank + 2) && weight.dim() == rank + 2, operation,
        ": expected input ", kInputs[rank - 1], " and weight ", transposed ? "[C, O / groups, " : "[O, C / groups, ",
        kKernels[rank - 1], "]\n  input  ", input, "\n  weight ", weight);
  check(groups >= 1 && weight.size(0) % groups == 0, operation, ": groups ", groups, " does not divide the ",
        weight.size(0), transposed ? " input" : " output", " channels\n  weight ", weight);
  const int64_t channels = transposed ? weight.size(0) : weight.size(1) * groups;
  check(input.size(-rank - 1) == channels, operation, ": weight expects ", channels, " input channels, input has ",
        input.size(-rank - 1), "\n  input  ", input, "\n  weight ", weight, groups == 1 ? "" : "\n  groups ",
        groups == 1 ? std::string() : std::to_string(groups));
  for (int64_t d = 0; d < rank; ++d)
    check(weight.size(d + 2) >= 1, operation, ": the kernel is empty\n  weight ", weight);
  check_alike(operation, "input ", input, "weight", weight);
  if (!bias.defined()) return;
  const int64_t out = transposed ? weight.size(1) * groups : weight.size(0);
  check(bias.dim() == 1 && bias.size(0) == out, operation, ": bias must be [", out, "]\n  weight ", weight,
        "\n  bias   ", bias);
  check_alike(operation, "weight", weight, "bias  ", bias);
}

int64_t single(const char* operation, const char* what, IntArrayRef value, int64_t least) {
  check(value.size() == 1, operation, ": ", what, " takes one number, got ", value);
  check(value[0] >= least && value[0] <= INT32_MAX, operation, ": ", what, " must be from ", least, " to ", INT32_MAX,
        ", got ", value);
  return value[0];
}

void check_kernel_fits(const char* operation, const Tensor& input, const Tensor& weight, int64_t d, int64_t padding,
                       int64_t dilation) {
  static constexpr const char* kNames[] = {"depth", "height", "width"};
  const int64_t padded = add_sizes(operation, input.size(d - weight.dim()), 2 * padding);
  const int64_t reach = multiply_sizes(operation, dilation, weight.size(d) - 1);
  check(padded > reach, operation, ": the ", weight.dim() == 3 ? "length" : kNames[d - weight.dim() + 3],
        " of the kernel, dilated, is ", reach, " + 1, that of the input, padded, is ", padded, "\n  input  ", input,
        "\n  weight ", weight);
}

Dims transposed_sizes(const char* operation, const Tensor& input, const Tensor& weight, IntArrayRef stride,
                      IntArrayRef padding, IntArrayRef output_padding, IntArrayRef dilation) {
  Dims sizes(stride.size(), 0);
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    check(output_padding[d] < stride[d] || output_padding[d] < dilation[d], operation, ": output_padding ",
          output_padding, " must be less than the stride ", stride, " or the dilation ", dilation,
          " in each dimension");
    const int64_t in = input.size(static_cast<int64_t>(d) - static_cast<int64_t>(sizes.size()));
    check(in >= 1, operation, ": the input is empty\n  input  ", input);
    const int64_t steps = multiply_sizes(operation, in - 1, stride[d]);
    const int64_t reach = multiply_sizes(operation, dilation[d], weight.size(static_cast<int64_t>(d) + 2) - 1);
    sizes[d] = add_sizes(operation, steps, reach) - 2 * padding[d] + output_padding[d] + 1;
    check(sizes[d] >= 1, operation, ": the output would be empty\n  input  ", input, "\n  weight ", weight,
          "\n  padding ", padding);
  }
  return sizes;
}

}  // namespace tandem::autograd
