// avg_pool2d and adaptive_avg_pool2d. They are linear: the gradient spreads each output over its window, and
// the gradient of that spreading is the pooling itself.
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/row_major.h"
#include "tandem/autograd/ops/nn/pool2d.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/pool.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem {
namespace autograd {

Pool2dParameters pool2d_parameters(const char* operation, const Tensor& self, IntArrayRef kernel_size,
                                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode,
                                   Dims& out_sizes) {
  check(self.dim() == 3 || self.dim() == 4, operation, ": expected [N, C, H, W] or [C, H, W], got ", self);
  Pool2dParameters p{.ceil_mode = ceil_mode};
  set_pair(operation, "kernel_size", kernel_size, 1, p.kernel);
  set_pair(operation, "stride", stride.empty() ? kernel_size : stride, 1, p.stride);
  set_pair(operation, "padding", padding, 0, p.padding);
  set_pair(operation, "dilation", dilation, 1, p.dilation);
  out_sizes = self.sizes();
  for (int d = 0; d < 2; ++d) {
    check(p.padding[d] <= p.kernel[d] / 2, operation, ": padding ", padding, " must be at most half of the kernel ",
          kernel_size);
    const int64_t in = self.size(d - 2);
    add_sizes("pooling", in, 2 * p.padding[d]);  // throws if the padded input is too large
    const int64_t out = p.out_size(d, in);
    check(out >= 1 && in >= 1, operation, ": no window of ", kernel_size, " fits in ", self, "\n  stride ",
          stride.empty() ? kernel_size : stride, ", padding ", padding, ", dilation ", dilation);
    out_sizes[out_sizes.size() - 2 + static_cast<std::size_t>(d)] = out;
  }
  return p;
}

MemoryFormat pool_format(const Tensor& self) {
  const bool large = self.numel() >= int64_t{1} << 30 && self.numel() / self.size(0) >= int64_t{1} << 30;
  return large ? MemoryFormat::Contiguous : self.suggest_memory_format();
}

Tensor as_planes(const Tensor& t, MemoryFormat format) {
  if (is_channels_last(format))
    return alias(t, t.sizes(), channels_last_strides(t.sizes(), format), t.storage_offset());
  const std::size_t n = t.sizes().size();
  int64_t planes = 1;
  for (std::size_t d = 0; d + 2 < n; ++d) planes *= t.sizes()[d];
  const Dims sizes{planes, t.sizes()[n - 2], t.sizes()[n - 1]};
  return alias(t, sizes, contiguous_strides(sizes), t.storage_offset());
}

}  // namespace autograd

namespace {
using namespace autograd;

// The arguments are dense in the layout, and so are the results.
Tensor pool(const Tensor& input, const Dims& out_sizes, const Pool2dParameters& p, MemoryFormat format);

struct AvgPool2dNode : Node {
  Dims in_sizes, out_sizes;
  Pool2dParameters p;
  MemoryFormat format = MemoryFormat::Contiguous;
  void keep(const Dims& in, const Dims& out, const Pool2dParameters& parameters, MemoryFormat layout) {
    in_sizes = in;
    out_sizes = out;
    p = parameters;
    format = layout;
  }
};

struct AvgPool2dBackwardBackward final : NamedNode<AvgPool2dBackwardBackward, AvgPool2dNode> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    out[0] = pool(g[0].contiguous(format), out_sizes, p, format);
  }
};

Tensor spread(const Tensor& grad, const Dims& in_sizes, const Pool2dParameters& p, MemoryFormat format) {
  Tensor out = empty_raw(in_sizes, grad.dtype(), grad.device(), format);
  if (out.numel() != 0) backend(out).pool.avg_backward(as_planes(out, format), as_planes(grad, format), p);
  if (auto* node = record<AvgPool2dBackwardBackward>(out, grad)) node->keep(in_sizes, grad.sizes(), p, format);
  return out;
}

struct AvgPool2dBackward final : NamedNode<AvgPool2dBackward, AvgPool2dNode> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    out[0] = spread(g[0].contiguous(format), in_sizes, p, format);
  }
};

Tensor pool(const Tensor& input, const Dims& out_sizes, const Pool2dParameters& p, MemoryFormat format) {
  Tensor out = empty_raw(out_sizes, input.dtype(), input.device(), format);
  if (out.numel() != 0) backend(out).pool.avg_forward(as_planes(out, format), as_planes(input, format), p);
  if (auto* node = record<AvgPool2dBackward>(out, input)) node->keep(input.sizes(), out_sizes, p, format);
  return out;
}

Tensor adaptive(const Tensor& input, const Dims& out_sizes, MemoryFormat format);

struct AdaptiveAvgPool2dNode : Node {
  Dims sizes;
  MemoryFormat format = MemoryFormat::Contiguous;
};

struct AdaptiveAvgPool2dBackwardBackward final : NamedNode<AdaptiveAvgPool2dBackwardBackward, AdaptiveAvgPool2dNode> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    out[0] = adaptive(g[0].contiguous(format), sizes, format);
  }
};

struct AdaptiveAvgPool2dBackward final : NamedNode<AdaptiveAvgPool2dBackward, AdaptiveAvgPool2dNode> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor grad = g[0].contiguous(format);
    out[0] = empty_raw(sizes, grad.dtype(), grad.device(), format);
    if (out[0].numel() != 0)
      backend(grad).pool.adaptive_avg_backward(as_planes(out[0], format), as_planes(grad, format));
    if (auto* node = record<AdaptiveAvgPool2dBackwardBackward>(out[0], grad)) {
      node->sizes = grad.sizes();
      node->format = format;
    }
  }
};

Tensor adaptive(const Tensor& input, const Dims& out_sizes, MemoryFormat format) {
  Tensor out = empty_raw(out_sizes, input.dtype(), input.device(), format);
  if (out.numel() != 0) backend(out).pool.adaptive_avg_forward(as_planes(out, format), as_planes(input, format));
  if (auto* node = record<AdaptiveAvgPool2dBackward>(out, input)) {
    node->sizes = input.sizes();
    node->format = format;
  }
  return out;
}

}  // namespace

Tensor avg_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                  bool count_include_pad, optional<int64_t> divisor_override) {
  if (const auto to = in_row_major_unless_inferred(self))
    return to.restored(
        avg_pool2d(to(self), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override));
  Dims sizes;
  Pool2dParameters p = pool2d_parameters("avg_pool2d", self, kernel_size, stride, padding, 1, ceil_mode, sizes);
  check(divisor_override != 0, "avg_pool2d: divisor_override must not be 0");
  p.count_include_pad = count_include_pad;
  p.divisor_override = divisor_override.value_or(0);
  const MemoryFormat format = pool_format(self);
  return pool(self.contiguous(format), sizes, p, format);
}

Tensor adaptive_avg_pool2d(const Tensor& self, IntArrayRef output_size) {
  if (const auto to = in_row_major_unless_inferred(self))
    return to.restored(adaptive_avg_pool2d(to(self), output_size));
  check(self.dim() == 3 || self.dim() == 4, "adaptive_avg_pool2d: expected [N, C, H, W] or [C, H, W], got ", self);
  std::array<int64_t, 2> pair;
  set_pair("adaptive_avg_pool2d", "output_size", output_size, 0, pair);
  check(self.size(-1) >= 1 && self.size(-2) >= 1, "adaptive_avg_pool2d: the planes are empty: ", self);
  Dims sizes(self.sizes());
  sizes[sizes.size() - 2] = pair[0];
  sizes[sizes.size() - 1] = pair[1];
  const MemoryFormat format = pool_format(self);
  return adaptive(self.contiguous(format), sizes, format);
}

}  // namespace tandem
