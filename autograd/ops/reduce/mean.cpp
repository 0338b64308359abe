// mean. Gradient: g / count, expanded to the input's shape.
#include <algorithm>

#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/reduce.h"

namespace tandem {
namespace {
using namespace autograd;

struct MeanBackward final : NamedNode<MeanBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    // For an empty tensor the gradient has no elements and must not compute 0 / 0.
    const auto count = static_cast<double>(std::max<int64_t>(1, reduced.count()));
    out[0] = (reduced.restore(g[0]) / count).expand(reduced.sizes);
  }
  Reduced reduced;
};

}  // namespace

Tensor mean(const Tensor& self, IntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  const ScalarType type = dtype.value_or(self.dtype());
  check(is_differentiable(type), "mean: expected a floating point or complex dtype, got ", type,
        "; pass dtype or convert the tensor\n  self ", self);
  const Tensor x = as_type(self, type);
  const uint32_t mask = dim_mask(dim, x.dim());
  if (x.is_complex()) {
    if (x.dim() == 0) return x.clone();
    const Dims dims = Reduced{x.sizes(), mask, keepdim}.dims();
    return on_parts(x, [&](const Tensor& parts) { return parts.mean(dims, keepdim); });
  }
  Tensor out = empty_raw(reduced_sizes(x.sizes(), mask, true), type, x.device());
  backend(x).reduce.mean(out, x, mask);
  out = drop_dims(out, mask, keepdim);
  if (auto* node = record<MeanBackward>(out, x)) node->reduced = {x.sizes(), mask, keepdim};
  return out;
}
Tensor mean(const Tensor& self, optional<ScalarType> dtype) { return tandem::mean(self, IntArrayRef{}, false, dtype); }
Tensor Tensor::mean(optional<ScalarType> dtype) const { return tandem::mean(*this, dtype); }
Tensor Tensor::mean(IntArrayRef dim, bool keepdim, optional<ScalarType> dtype) const {
  return tandem::mean(*this, dim, keepdim, dtype);
}

}  // namespace tandem
