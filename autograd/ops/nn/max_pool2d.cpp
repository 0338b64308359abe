// max_pool2d. Gradient: g added at the positions of the maxima; its own gradient reads at those positions.
#include "tandem/autograd/ops/detail/row_major.h"
#include "tandem/autograd/ops/nn/pool2d.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/pool.h"

namespace tandem {
namespace {
using namespace autograd;

struct MaxPool2dNode : Node {
  void keep(const Tensor& at, const Dims& in, const Pool2dParameters& parameters) {
    indices.save(at);
    in_sizes = in;
    p = parameters;
  }
  TANDEM_SAVED(indices);
  Dims in_sizes;
  Pool2dParameters p;
};

Tensor gather_maxima(const Tensor& input, const Tensor& indices, const Pool2dParameters& p);

struct MaxPool2dBackwardBackward final : NamedNode<MaxPool2dBackwardBackward, MaxPool2dNode> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor at = indices.unpack(*this);
    out[0] = gather_maxima(g[0].contiguous(at.suggest_memory_format()), at, p);
  }
};

struct MaxPool2dBackward final : NamedNode<MaxPool2dBackward, MaxPool2dNode> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor at = indices.unpack(*this);
    const MemoryFormat format = at.suggest_memory_format();
    const Tensor grad = g[0].contiguous(format);
    out[0] = empty_raw(in_sizes, grad.dtype(), grad.device(), format);
    if (out[0].numel() != 0)
      backend(grad).pool.max_backward(as_planes(out[0], format), as_planes(grad, format), as_planes(at, format), p);
    if (auto* node = record<MaxPool2dBackwardBackward>(out[0], grad)) node->keep(at, in_sizes, p);
  }
};

Tensor gather_maxima(const Tensor& input, const Tensor& indices, const Pool2dParameters& p) {
  const MemoryFormat format = indices.suggest_memory_format();
  Tensor out = empty_raw(indices.sizes(), input.dtype(), input.device(), format);
  if (out.numel() != 0)
    backend(out).pool.max_gather(as_planes(out, format), as_planes(input, format), as_planes(indices, format), p);
  if (auto* node = record<MaxPool2dBackward>(out, input)) node->keep(indices, input.sizes(), p);
  return out;
}

// indices is undefined when not requested.
struct Pooled {
  Tensor out, indices;
};
Pooled pool(const Tensor& self, const Dims& sizes, const Pool2dParameters& p, bool with_indices) {
  const MemoryFormat format = pool_format(self);
  const Tensor input = self.contiguous(format);
  Pooled result{empty_raw(sizes, input.dtype(), input.device(), format), {}};
  if (with_indices || recording(input)) result.indices = empty_raw(sizes, kLong, input.device(), format);
  const Tensor planes = result.indices.defined() ? as_planes(result.indices, format) : Tensor();
  if (result.out.numel() != 0)
    backend(input).pool.max_forward(as_planes(result.out, format), planes, as_planes(input, format), p);
  if (auto* node = record<MaxPool2dBackward>(result.out, input)) node->keep(result.indices, input.sizes(), p);
  return result;
}

}  // namespace

Tensor max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  if (const auto to = in_row_major_unless_inferred(self))
    return to.restored(max_pool2d(to(self), kernel_size, stride, padding, dilation, ceil_mode));
  Dims sizes;
  const Pool2dParameters p =
      pool2d_parameters("max_pool2d", self, kernel_size, stride, padding, dilation, ceil_mode, sizes);
  return pool(self, sizes, p, false).out;
}

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                   IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  if (const auto to = in_row_major_on_cpu(self))
    return to.restored(max_pool2d_with_indices(to(self), kernel_size, stride, padding, dilation, ceil_mode));
  Dims sizes;
  const Pool2dParameters p =
      pool2d_parameters("max_pool2d_with_indices", self, kernel_size, stride, padding, dilation, ceil_mode, sizes);
  Pooled result = pool(self, sizes, p, true);
  return {std::move(result.out), std::move(result.indices)};
}

}  // namespace tandem
