// Functional forms of convolutions: padding kSame, one dimension by way of two.
#include "tandem/nn/functional/conv.h"

#include "tandem/autograd/ops/conv2d.h"

namespace tandem::nn::functional {
namespace {

// Zeros kSame needs on the left; the right side gets one more where `uneven`.
struct Same {
  int64_t left = 0;
  bool uneven = false;
};
Same same_padding(int64_t kernel, int64_t dilation) {
  const int64_t total = dilation * (kernel - 1);
  return {total / 2, total % 2 != 0};
}

struct Geometry {
  std::array<int64_t, 2> stride, padding, dilation;
  bool same = false;
};

// An uneven kSame pads both sides by the larger number and drops what this adds in front.
Tensor convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, const Geometry& g,
                int64_t groups) {
  if (!g.same) return tandem::conv2d(input, weight, bias, g.stride, g.padding, g.dilation, groups);
  check(g.stride[0] == 1 && g.stride[1] == 1,
        "conv: padding kSame is not supported with a stride, got stride ", IntArrayRef(g.stride));
  check(weight.dim() == 4, "conv: weight expects ", 4, " dimensions, got ", weight);
  std::array<int64_t, 2> padding;
  bool uneven[2];
  for (std::size_t d = 0; d < 2; ++d) {
    const Same same = same_padding(weight.size(static_cast<int64_t>(d) + 2), g.dilation[d]);
    padding[d] = same.left + (same.uneven ? 1 : 0);
    uneven[d] = same.uneven;
  }
  Tensor out = tandem::conv2d(input, weight, bias, g.stride, padding, g.dilation, groups);
  for (int64_t d = 0; d < 2; ++d)
    if (uneven[d]) out = out.narrow(d - 2, 1, input.size(d - 2));
  return out;
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options) {
  check(input.dim() == 2 || input.dim() == 3, "conv1d: input must be [N, C, L] or [C, L], got ", input);
  check(weight.dim() == 3, "conv1d: weight must be [out, C / groups, k], got ", weight);
  const Geometry g{{1, options.stride()[0]},
                   {0, options.padding().values()[0]},
                   {1, options.dilation()[0]},
                   options.padding().is_same()};
  return convolve(input.unsqueeze(-2), weight.unsqueeze(-2), options.bias(), g, options.groups()).squeeze(-2);
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options) {
  return convolve(
      input, weight, options.bias(),
      {*options.stride(), *options.padding().values(), *options.dilation(), options.padding().is_same()},
      options.groups());
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose2dFuncOptions& options) {
  return tandem::conv_transpose2d(input, weight, options.bias(), *options.stride(), *options.padding(),
                                  *options.output_padding(), options.groups(), *options.dilation());
}

}  // namespace tandem::nn::functional
