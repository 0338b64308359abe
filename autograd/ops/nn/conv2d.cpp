// conv2d. It is linear in the input x and in the weight w, so three operations are closed under differentiation:
// y = conv(x, w), dx = input(g, w), dw = weight(g, x), where g has the shape of y. With the incoming gradient dd,
// the gradients of `input` are conv(dd, w) and weight(g, dd); those of `weight` are conv(x, dd) and input(g, dd).
#include "tandem/autograd/ops/nn/conv2d.h"
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/nn/conv_checks.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex_bilinear.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/conv.h"
#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/base/checked_sizes.h"
#include "tandem/core/memory/kept_weight.h"
#include "tandem/core/memory_format.h"

namespace tandem {
namespace {
using namespace autograd;

// The layout of weights and their gradients for the kernels, where `format` is that of inputs and outputs.
MemoryFormat weight_format(const Tensor& t, MemoryFormat format) {
  return t.is_cpu() ? MemoryFormat::Contiguous : format;
}

// The arguments must be consistent, and dense in `format`, the layout of the result, or the weight's. Only the bias is
// recorded.
Tensor conv2d_forward(const Tensor& input, const Tensor& weight, const ConvEpilogue<Tensor>& epilogue,
                      const Conv2dParameters& p, MemoryFormat format, KeptWeight* kept = nullptr);

struct ConvNode : Node {
  TANDEM_SAVED(a, b);  // the operation's two arguments, in order
  Dims a_sizes, b_sizes;
  Conv2dParameters p;
  MemoryFormat format = MemoryFormat::Contiguous;

  void save(const Tensor& first, const Tensor& second, const Conv2dParameters& parameters, MemoryFormat layout) {
    if (needs(1)) a.save(first);
    if (needs(0)) b.save(second);
    a_sizes = first.sizes();
    b_sizes = second.sizes();
    p = parameters;
    format = layout;
  }
};

// a: input, b: weight.
struct Conv2dBackward final : NamedNode<Conv2dBackward, ConvNode> {
  void backward(std::span<Tensor> grads, std::span<Tensor> out) override {
    const Tensor g = grads[0].contiguous(format);
    if (needs(0)) out[0] = conv2d_backward_input(g, b.unpack(*this), a_sizes, p, format);
    if (GradMode::is_enabled()) {
      if (needs(1)) out[1] = conv2d_backward_weight(g, a.unpack(*this), b_sizes, p, format);
      if (needs(2)) out[2] = g.sum({0, 2, 3});
      return;
    }
    const auto& conv = backend(g).conv;
    if (needs(2)) out[2] = empty_raw({g.size(1)}, g.dtype(), g.device());
    if (needs(1)) {
      out[1] = empty_raw(b_sizes, g.dtype(), g.device(), weight_format(g, format));
      conv.backward_weight(out[1], out[2], g, a.unpack(*this), p);
      out[1] = out[1].contiguous(format);
    } else if (needs(2)) {
      conv.backward_bias(out[2], g);
    }
  }
};

// a: grad_output, b: weight.
struct Conv2dBackwardInputBackward final : NamedNode<Conv2dBackwardInputBackward, ConvNode> {
  void backward(std::span<Tensor> grads, std::span<Tensor> out) override {
    const Tensor g = grads[0].contiguous(format);
    if (needs(0)) out[0] = conv2d_forward(g, b.unpack(*this), {}, p, format);
    if (needs(1)) out[1] = conv2d_backward_weight(a.unpack(*this), g, b_sizes, p, format);
  }
};

// a: grad_output, b: input.
struct Conv2dBackwardWeightBackward final : NamedNode<Conv2dBackwardWeightBackward, ConvNode> {
  void backward(std::span<Tensor> grads, std::span<Tensor> out) override {
    const Tensor g = grads[0].contiguous(weight_format(grads[0], format));
    if (needs(0)) out[0] = conv2d_forward(b.unpack(*this), g, {}, p, format);
    if (needs(1)) out[1] = conv2d_backward_input(a.unpack(*this), g, b_sizes, p, format);
  }
};

Dims output_sizes(const Tensor& input, const Tensor& weight, const Conv2dParameters& p) {
  Dims sizes{input.size(0), weight.size(0), 0, 0};
  for (int d = 0; d < 2; ++d) {
    check_kernel_fits("conv2d", input, weight, d + 2, p.padding[d], p.dilation[d]);
    sizes[static_cast<std::size_t>(d + 2)] = p.out_size(d, input.size(d + 2), weight.size(d + 2));
  }
  return sizes;
}

Tensor conv2d_forward(const Tensor& input, const Tensor& weight, const ConvEpilogue<Tensor>& epilogue,
                      const Conv2dParameters& p, MemoryFormat format, KeptWeight* kept) {
  Tensor out = empty_raw(output_sizes(input, weight, p), input.dtype(), input.device(), format);
  backend(input).conv.forward(out, input, weight, epilogue, p, kept);
  if (auto* node = record<Conv2dBackward>(out, input, weight, epilogue.bias)) node->save(input, weight, p, format);
  return out;
}

// Whether the kernel is asked to apply the whole epilogue, which only the CPU's does.
bool in_one_pass(const Tensor& input, const Tensor& weight, const ConvEpilogue<Tensor>& e, const Conv2dParameters& p,
                 MemoryFormat format) {
  const Tensor& r = e.residual;
  return input.dim() == 4 && input.is_cpu() && !recording(input, weight, e.bias, r) &&
         (!r.defined() || (r.dtype() == input.dtype() && r.device() == input.device() && r.is_contiguous(format) &&
                           Dims(r.sizes()) == output_sizes(input, weight, p)));
}

}  // namespace

// Channels-last tensors are faster if the output's channels fill vectors. Exported models are row-major.
static bool pays_channels_last(const Tensor& input, const Tensor& weight, int64_t groups) {
  const int64_t out = weight.size(0) / groups;
  return input.is_cpu() && input.dim() == 4 && !isReducedFloatingType(input.dtype()) &&
         (out == 1 && weight.size(1) == 1 ? groups >= 16 : out >= 32) &&
         tandem::detail::PauseRecorder().recorder() == nullptr;
}

Tensor autograd::activated_(Tensor output, FusedActivation activation) {
  if (activation == FusedActivation::kRelu) output.relu_();
  if (activation == FusedActivation::kRelu6) output.clamp_(Scalar(0), Scalar(6));
  if (activation == FusedActivation::kHardswish) hardswish_(output);
  return output;
}

namespace {

Tensor finished(const Tensor& out, const ConvEpilogue<Tensor>& e) {
  if (e.residual.defined()) out.add_(e.residual);
  return activated_(out, e.activation);
}

}  // namespace

namespace autograd {

MemoryFormat convolution_format(const Tensor& input, const Tensor& weight) {
  if (input.dim() != weight.dim()) return MemoryFormat::Contiguous;  // without a batch
  const MemoryFormat format = input.suggest_memory_format();
  return is_channels_last(format) ? format : weight.suggest_memory_format();
}

Conv2dParameters conv2d_parameters(const char* operation, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                   int64_t groups) {
  Conv2dParameters p{.groups = groups};
  set_pair(operation, "stride", stride, 1, p.stride);
  set_pair(operation, "padding", padding, 0, p.padding);
  set_pair(operation, "dilation", dilation, 1, p.dilation);
  return p;
}

Tensor conv2d_backward_input(const Tensor& grad_output, const Tensor& weight, IntArrayRef sizes,
                             const Conv2dParameters& p, MemoryFormat format) {
  Tensor out = empty_raw(sizes, weight.dtype(), weight.device(), format);
  backend(out).conv.backward_input(out, grad_output, weight, p);
  if (auto* node = record<Conv2dBackwardInputBackward>(out, grad_output, weight)) {
    node->save(grad_output, weight, p, format);
  }
  return out;
}

Tensor conv2d_backward_weight(const Tensor& grad_output, const Tensor& input, IntArrayRef sizes,
                              const Conv2dParameters& p, MemoryFormat format) {
  Tensor out = empty_raw(sizes, input.dtype(), input.device(), weight_format(input, format));
  backend(out).conv.backward_weight(out, {}, grad_output, input, p);
  if (auto* node = record<Conv2dBackwardWeightBackward>(out, grad_output, input)) {
    node->save(grad_output, input, p, format);
  }
  return out.contiguous(format);
}

}  // namespace autograd

Tensor autograd::conv2d_with_epilogue(const Tensor& input, const Tensor& weight, const ConvEpilogue<Tensor>& e,
                                      IntArrayRef stride, const ConvPadding& padding, IntArrayRef dilation,
                                      int64_t groups, KeptWeight* kept, optional<MemoryFormat> result) {
  if (const auto to = autocast::lower_precision(input))
    return conv2d_with_epilogue(to(input), to(weight), {to(e.bias), e.residual, e.activation}, stride, padding,
                                dilation, groups, kept, result);
  check_convolution("conv2d", input, weight, e.bias, groups, 2, false);
  if (input.is_complex()) {
    if (kept != nullptr) kept->clear();
    const Tensor out = complex_bilinear(input, weight, [&](const Tensor& x, const Tensor& w) {
      return conv2d_with_epilogue(x, w, {}, stride, padding, dilation, groups);
    });
    return finished(e.bias.defined() ? out + e.bias.reshape({e.bias.size(0), 1, 1}) : out, e);
  }
  Conv2dParameters p =
      conv2d_parameters("conv2d", stride, padding.name ? IntArrayRef(0) : padding.numbers, dilation, groups);
  bool uneven = false;
  if (padding.name && *padding.name != "valid") {
    check(*padding.name == "same", "conv2d: padding is \"valid\", \"same\" or numbers, got \"", *padding.name, "\"");
    check(p.stride[0] == 1 && p.stride[1] == 1, "conv2d: padding \"same\" goes with stride 1, got ", stride);
    // An odd total requires one more element of padding after the input than before it: pad both sides by the larger
    // amount and drop the first output.
    std::array<int64_t, 2> around;
    for (std::size_t d = 0; d < 2; ++d) {
      const int64_t total = multiply_sizes("conv2d", p.dilation[d], weight.size(static_cast<int64_t>(d) + 2) - 1);
      around[d] = total / 2 + total % 2;
      uneven = uneven || total % 2 != 0;
    }
    p = conv2d_parameters("conv2d", stride, around, dilation, groups);
  }
  MemoryFormat format = convolution_format(input, weight);
  const bool lays_out = result == MemoryFormat::ChannelsLast && !is_channels_last(format) &&
                        pays_channels_last(input, weight, groups) && !recording(input, weight, e.bias, e.residual);
  if (lays_out) format = MemoryFormat::ChannelsLast;
  const bool whole = !(uneven && e.residual.defined()) && in_one_pass(input, weight, e, p, format);
  if (kept != nullptr && !(whole && weight.is_contiguous())) {
    kept->clear();
    kept = nullptr;
  }
  const Tensor bias = e.bias.defined() ? e.bias.contiguous() : e.bias;
  const Tensor x = input.dim() == 4 ? input : input.unsqueeze(0);
  Tensor out = conv2d_forward(
      lays_out && x.is_contiguous() ? x : x.contiguous(format), weight.contiguous(weight_format(input, format)),
      whole ? ConvEpilogue<Tensor>{bias, e.residual, e.activation} : ConvEpilogue<Tensor>{bias}, p, format, kept);
  if (uneven)
    for (const int64_t d : {-2, -1}) out = out.narrow(d, out.size(d) - input.size(d), input.size(d));
  if (input.dim() == 3) out = out.squeeze(0);
  if (!whole) out = finished(out, e);
  return result == MemoryFormat::Contiguous ? out.contiguous() : out;
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
              IntArrayRef dilation, int64_t groups) {
  return conv2d_with_epilogue(input, weight, {.bias = bias}, stride, padding, dilation, groups);
}

Tensor autograd::conv1d_padded(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                               const ConvPadding& padding, IntArrayRef dilation, int64_t groups) {
  if (const auto to = autocast::lower_precision(input))
    return conv1d_padded(to(input), to(weight), to(bias), stride, padding, dilation, groups);
  check_convolution("conv1d", input, weight, bias, groups, 1, false);
  const int64_t step = single("conv1d", "stride", stride, 1), apart = single("conv1d", "dilation", dilation, 1),
                around = padding.name ? 0 : single("conv1d", "padding", padding.numbers, 0);
  if (padding.name != "same") check_kernel_fits("conv1d", input, weight, 2, around, apart);
  Dims sizes(input.sizes());
  sizes.insert(sizes.size() - 1, 1);
  const int64_t both[] = {0, around};
  const Tensor y = conv2d_with_epilogue(
      input.contiguous().view(sizes), weight.contiguous().view({weight.size(0), weight.size(1), 1, weight.size(2)}),
      {.bias = bias}, {1, step}, padding.name ? padding : ConvPadding(IntArrayRef(both)), {1, apart}, groups);
  return y.squeeze(-2);
}

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
              IntArrayRef dilation, int64_t groups) {
  return conv1d_padded(input, weight, bias, stride, padding, dilation, groups);
}

}  // namespace tandem
