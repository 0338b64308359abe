// conv2d. It is linear in the input x and in the weight w, so three operations are closed under differentiation:
// y = conv(x, w), dx = input(g, w), dw = weight(g, x), where g has the shape of y. With the incoming gradient dd,
// the gradients of `input` are conv(dd, w) and weight(g, dd); those of `weight` are conv(x, dd) and input(g, dd).
#include "tandem/autograd/ops/nn/conv2d.h"
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/nn/conv_checks.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex_bilinear.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/conv.h"
#include "tandem/core/base/checked_sizes.h"
#include "tandem/core/memory/kept_weight.h"

namespace tandem {
namespace {
using namespace autograd;

// The arguments must be contiguous and consistent.
Tensor conv2d_forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const Conv2dParameters& p);

struct ConvNode : Node {
  void release() override {
    a.release();
    b.release();
  }
  SavedTensor a, b;  // the operation's two arguments, in order
  Dims a_sizes, b_sizes;
  Conv2dParameters p;

  void save(const Tensor& first, const Tensor& second, const Conv2dParameters& parameters) {
    if (needs(1)) a.save(first);
    if (needs(0)) b.save(second);
    a_sizes = first.sizes();
    b_sizes = second.sizes();
    p = parameters;
  }
};

// a: input, b: weight.
struct Conv2dBackward final : ConvNode {
  const char* name() const override { return "Conv2dBackward"; }
  void backward(std::span<Tensor> grads, std::span<Tensor> out) override {
    const Tensor g = grads[0].contiguous();
    if (needs(0)) out[0] = conv2d_backward_input(g, b.unpack(*this), a_sizes, p);
    if (GradMode::is_enabled()) {
      if (needs(1)) out[1] = conv2d_backward_weight(g, a.unpack(*this), b_sizes, p);
      if (needs(2)) out[2] = g.sum({0, 2, 3});
      return;
    }
    const auto& conv = backend(g).conv;
    if (needs(2)) out[2] = empty_raw({g.size(1)}, g.dtype(), g.device());
    if (needs(1)) {
      out[1] = empty_raw(b_sizes, g.dtype(), g.device());
      conv.backward_weight(out[1], out[2], g, a.unpack(*this), p);
    } else if (needs(2)) {
      conv.backward_bias(out[2], g);
    }
  }
};

// a: grad_output, b: weight.
struct Conv2dBackwardInputBackward final : ConvNode {
  const char* name() const override { return "Conv2dBackwardInputBackward"; }
  void backward(std::span<Tensor> grads, std::span<Tensor> out) override {
    const Tensor g = grads[0].contiguous();
    if (needs(0)) out[0] = conv2d_forward(g, b.unpack(*this), {}, p);
    if (needs(1)) out[1] = conv2d_backward_weight(a.unpack(*this), g, b_sizes, p);
  }
};

// a: grad_output, b: input.
struct Conv2dBackwardWeightBackward final : ConvNode {
  const char* name() const override { return "Conv2dBackwardWeightBackward"; }
  void backward(std::span<Tensor> grads, std::span<Tensor> out) override {
    const Tensor g = grads[0].contiguous();
    if (needs(0)) out[0] = conv2d_forward(b.unpack(*this), g, {}, p);
    if (needs(1)) out[1] = conv2d_backward_input(a.unpack(*this), g, b_sizes, p);
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

Tensor conv2d_forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const Conv2dParameters& p) {
  Tensor out = empty_raw(output_sizes(input, weight, p), input.dtype(), input.device());
  backend(input).conv.forward(out, input, weight, bias, p);
  if (auto* node = record<Conv2dBackward>(out, input, weight, bias)) node->save(input, weight, p);
  return out;
}

}  // namespace

namespace autograd {

Conv2dParameters conv2d_parameters(const char* operation, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                   int64_t groups) {
  Conv2dParameters p{.groups = groups};
  set_pair(operation, "stride", stride, 1, p.stride);
  set_pair(operation, "padding", padding, 0, p.padding);
  set_pair(operation, "dilation", dilation, 1, p.dilation);
  return p;
}

Tensor conv2d_backward_input(const Tensor& grad_output, const Tensor& weight, IntArrayRef sizes,
                             const Conv2dParameters& p) {
  Tensor out = empty_raw(sizes, weight.dtype(), weight.device());
  backend(out).conv.backward_input(out, grad_output, weight, p);
  if (auto* node = record<Conv2dBackwardInputBackward>(out, grad_output, weight)) node->save(grad_output, weight, p);
  return out;
}

Tensor conv2d_backward_weight(const Tensor& grad_output, const Tensor& input, IntArrayRef sizes,
                              const Conv2dParameters& p) {
  Tensor out = empty_raw(sizes, input.dtype(), input.device());
  backend(out).conv.backward_weight(out, {}, grad_output, input, p);
  if (auto* node = record<Conv2dBackwardWeightBackward>(out, grad_output, input)) node->save(grad_output, input, p);
  return out;
}

}  // namespace autograd

Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
              IntArrayRef dilation, int64_t groups) {
  if (const auto to = autocast::lower_precision(input))
    return conv2d(to(input), to(weight), to(bias), stride, padding, dilation, groups);
  check_convolution("conv2d", input, weight, bias, groups, 2, false);
  if (input.is_complex()) {
    const Tensor out = complex_bilinear(input, weight, [&](const Tensor& x, const Tensor& w) {
      return conv2d(x, w, {}, stride, padding, dilation, groups);
    });
    return bias.defined() ? out + bias.reshape({bias.size(0), 1, 1}) : out;
  }
  const Conv2dParameters p = conv2d_parameters("conv2d", stride, padding, dilation, groups);
  const Tensor b = bias.defined() ? bias.contiguous() : bias;
  if (input.dim() == 4) return conv2d_forward(input.contiguous(), weight.contiguous(), b, p);
  const Tensor one = input.reshape({1, input.size(0), input.size(1), input.size(2)});
  const Tensor out = conv2d_forward(one.contiguous(), weight.contiguous(), b, p);
  return out.view({out.size(1), out.size(2), out.size(3)});
}

namespace {

// Undefined unless the kernel for inference takes these arguments.
Tensor try_inference(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                     IntArrayRef padding, IntArrayRef dilation, int64_t groups, const Conv2dInferenceOptions& options) {
  const Tensor& residual = options.residual;
  if (!input.is_cpu() || input.dim() != 4 || (input.dtype() != kFloat && input.dtype() != kDouble) ||
      recording(input, weight, bias, residual) || autocast::is_on(input))
    return {};
  check_convolution("conv2d", input, weight, bias, groups, 2, false);
  const Conv2dParameters p = conv2d_parameters("conv2d", stride, padding, dilation, groups);
  const Dims sizes = output_sizes(input, weight, p);
  if (residual.defined() && (residual.dtype() != input.dtype() || residual.device() != input.device() ||
                             !residual.is_contiguous() || Dims(residual.sizes()) != sizes))
    return {};
  const ConvInference inference{.relu = options.relu, .kept = weight.is_contiguous() ? options.kept : nullptr};
  Tensor out = empty_raw(sizes, input.dtype(), input.device());
  const Tensor b = bias.defined() ? bias.contiguous() : bias;
  const bool done =
      backend(input).conv.forward_inference(out, input.contiguous(), weight.contiguous(), b, residual, p, inference);
  return done ? out : Tensor();
}

}  // namespace

Tensor autograd::conv2d_inference(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                                  IntArrayRef padding, IntArrayRef dilation, int64_t groups,
                                  const Conv2dInferenceOptions& options) {
  if (const Tensor out = try_inference(input, weight, bias, stride, padding, dilation, groups, options); out.defined())
    return out;
  if (options.kept != nullptr) options.kept->clear();
  Tensor out = conv2d(input, weight, bias, stride, padding, dilation, groups);
  if (options.residual.defined()) out.add_(options.residual);
  return options.relu ? out.relu_() : out;
}

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
              IntArrayRef dilation, int64_t groups) {
  if (const auto to = autocast::lower_precision(input))
    return conv1d(to(input), to(weight), to(bias), stride, padding, dilation, groups);
  check_convolution("conv1d", input, weight, bias, groups, 1, false);
  const int64_t step = single("conv1d", "stride", stride, 1), around = single("conv1d", "padding", padding, 0),
                apart = single("conv1d", "dilation", dilation, 1);
  check_kernel_fits("conv1d", input, weight, 2, around, apart);
  Dims sizes(input.sizes());
  sizes.insert(sizes.size() - 1, 1);
  const Tensor y = conv2d(input.reshape(sizes), weight.reshape({weight.size(0), weight.size(1), 1, weight.size(2)}),
                          bias, {1, step}, {0, around}, {1, apart}, groups);
  sizes = y.sizes();
  sizes.erase(sizes.size() - 2);
  return y.view(sizes);
}

namespace autograd {

Tensor conv2d_padded(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                     std::string_view padding, IntArrayRef dilation, int64_t groups) {
  if (padding == "valid") return conv2d(input, weight, bias, stride, 0, dilation, groups);
  check(padding == "same", "conv2d: padding is \"valid\", \"same\" or numbers, got \"", padding, "\"");
  const Conv2dParameters p = conv2d_parameters("conv2d", stride, 0, dilation, groups);
  check(p.stride[0] == 1 && p.stride[1] == 1, "conv2d: padding \"same\" goes with stride 1, got ", stride);
  check(weight.dim() == 4 && input.dim() >= 3,
        "conv2d: expected input [N, C, H, W] or [C, H, W] and weight [O, C / groups, height, width]\n  input  ", input,
        "\n  weight ", weight);
  // An odd total requires one more element of padding after the input than before it: pad both sides by the larger
  // amount and drop the first output.
  const auto pad = [&](int d) { return (p.dilation[d] * (weight.size(d + 2) - 1) + 1) / 2; };
  const Tensor y = conv2d(input, weight, bias, 1, {pad(0), pad(1)}, dilation, groups);
  Dims sizes(y.sizes());
  int64_t offset = y.storage_offset();
  for (int d = -2; d < 0; ++d) {
    offset += (y.size(d) - input.size(d)) * y.stride(d);
    sizes[static_cast<std::size_t>(y.dim() + d)] = input.size(d);
  }
  return sizes == Dims(y.sizes()) ? y : y.as_strided(sizes, y.strides(), offset);
}

}  // namespace autograd

}  // namespace tandem
