// sum, nansum. Gradient: g expanded to the input's shape.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/refuse_complex.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/reduce.h"
#include "tandem/core/reduce_dims.h"

namespace tandem {
namespace autograd {

Dims reduced_sizes(IntArrayRef sizes, uint32_t mask, bool keepdim) {
  Dims out;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if ((mask >> d & 1u) == 0)
      out.push_back(sizes[d]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

Tensor drop_dims(const Tensor& t, uint32_t mask, bool keepdim) {
  if (keepdim) return t;
  const Dims sizes = reduced_sizes(t.sizes(), mask, false);
  return alias(t, sizes, contiguous_strides(sizes), t.storage_offset());
}

Tensor restore_dims(const Tensor& reduced, IntArrayRef input_sizes, uint32_t mask, bool keepdim) {
  return keepdim ? reduced : reduced.reshape(reduced_sizes(input_sizes, mask, true));
}

int64_t reduced_numel(IntArrayRef sizes, uint32_t mask) { return reduced_elements(sizes, mask); }

}  // namespace autograd

namespace {
using namespace autograd;

struct SumBackward final : NamedNode<SumBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    out[0] = reduced.restore(g[0]).expand(reduced.sizes);
  }
  Reduced reduced;
};

}  // namespace

Tensor sum(const Tensor& self, IntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  if (const auto to = autocast::full_precision_on_cuda(self); to && !dtype) return tandem::sum(to(self), dim, keepdim);
  const bool integral = is_integral(self.dtype(), true);
  const ScalarType type = dtype.value_or(integral ? kLong : self.dtype());
  if (is_integral(type, true) && type != kLong) return tandem::sum(as_type(self, type), dim, keepdim, kLong).to(type);
  const Tensor x = integral && type == kLong ? self : as_type(self, type);
  const uint32_t mask = dim_mask(dim, x.dim());
  if (x.is_complex()) {
    if (x.dim() == 0) return x.clone();
    const Dims dims = Reduced{x.sizes(), mask, keepdim}.dims();
    return on_parts(x, [&](const Tensor& parts) { return parts.sum(dims, keepdim); });
  }
  Tensor out = empty_raw(reduced_sizes(x.sizes(), mask, true), type, x.device());
  backend(x).reduce.sum(out, x, mask);
  out = drop_dims(out, mask, keepdim);
  if (auto* node = record<SumBackward>(out, x)) node->reduced = {x.sizes(), mask, keepdim};
  return out;
}
Tensor sum(const Tensor& self, optional<ScalarType> dtype) { return tandem::sum(self, IntArrayRef{}, false, dtype); }
Tensor nansum(const Tensor& self, IntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  if (const auto plain = autocast::unchanged_on_cuda(self)) return nansum(self, dim, keepdim, dtype);
  autograd::refuse_complex("nansum", self);
  if (!self.is_floating_point() || (dtype && !is_floating_point(*dtype))) return tandem::sum(self, dim, keepdim, dtype);
  return tandem::sum(self.masked_fill(self.detach() != self.detach(), 0), dim, keepdim, dtype);
}
Tensor Tensor::sum(optional<ScalarType> dtype) const { return tandem::sum(*this, dtype); }
Tensor Tensor::sum(IntArrayRef dim, bool keepdim, optional<ScalarType> dtype) const {
  return tandem::sum(*this, dim, keepdim, dtype);
}

}  // namespace tandem
