// fill_ and zero_. Gradients: 0 for the overwritten tensor, and the sum of g for a tensor value.
#include "tandem/autograd/ops/factories/fill.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/promotion.h"

namespace tandem {
namespace autograd {
void ZeroBackward::backward(std::span<Tensor> g, std::span<Tensor> out) { out[0] = zeros(sizes, g[0].options()); }

namespace {
struct ReplaceBackward final : NamedNode<ReplaceBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    if (needs(0)) out[0] = zeros(g[0].sizes(), g[0].options());
    if (needs(1)) out[1] = g[0];
  }
};
}  // namespace

Tensor in_place_of(const Tensor& self, const Tensor& before, const Tensor& value) {
  if (!before.requires_grad() || self.is_view()) return value;
  Tensor out = alias(value, value.sizes(), value.strides(), value.storage_offset());
  record<ReplaceBackward>(out, before, value);
  return out;
}
}  // namespace autograd

using namespace autograd;

Tensor& Tensor::fill_(const Scalar& value) const {
  check_number_fits("fill_", value, dtype());
  return overwrite(*this, "fill_", [&](const Tensor& out) { fill_raw(out, value); });
}
Tensor& Tensor::fill_(const Tensor& value) const {
  check(value.dim() == 0, "fill_: expected a number or a 0-dim tensor, got ", value);
  if (!recording(value)) {
    const Tensor number = value.detach().to(device(), dtype());
    return overwrite(*this, "fill_", [&](const Tensor& out) { copy_raw(out, number); });
  }
  return inplace(
      *this, "fill_", Before::kAlias, [] {},
      [&](const Tensor& before) { return in_place_of(*this, before, value.to(device(), dtype()).expand(sizes())); },
      value);
}
Tensor& Tensor::zero_() const {
  return overwrite(*this, "zero_", [](const Tensor& out) { fill_raw(out, 0); });
}

}  // namespace tandem
