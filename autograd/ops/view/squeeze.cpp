// squeeze and unsqueeze: remove and insert dimensions of size 1. Gradient: g in the input's shape.
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

struct SqueezeBackward final : NamedNode<SqueezeBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0].reshape(sizes); }
  Dims sizes;
};

struct UnsqueezeBackward final : NamedNode<UnsqueezeBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0].squeeze(dim); }
  int64_t dim = 0;
};

Tensor squeeze_mask(const Tensor& self, uint32_t mask) {
  Dims sizes, strides;
  for (std::size_t d = 0; d < self.sizes().size(); ++d) {
    if (self.sizes()[d] == 1 && (mask >> d & 1u) != 0) continue;
    sizes.push_back(self.sizes()[d]);
    strides.push_back(self.strides()[d]);
  }
  Tensor out = make_view(self, sizes, strides, self.storage_offset());
  if (auto* node = record<SqueezeBackward>(out, self)) node->sizes = self.sizes();
  return out;
}

}  // namespace

Tensor squeeze(const Tensor& self) { return squeeze_mask(self, ~0u); }
Tensor squeeze(const Tensor& self, int64_t dim) { return squeeze_mask(self, 1u << wrap_dim(dim, self.dim())); }
Tensor squeeze(const Tensor& self, IntArrayRef dim) {
  return squeeze_mask(self, dim_mask(dim, self.dim(), /*empty_means_all=*/false));
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  dim = wrap_dim(dim, self.dim() + 1);
  const auto d = static_cast<std::size_t>(dim);
  Dims sizes(self.sizes()), strides(self.strides());
  const int64_t stride = d < sizes.size() ? sizes[d] * strides[d] : 1;
  sizes.insert(d, 1);
  strides.insert(d, stride);
  Tensor out = make_view(self, sizes, strides, self.storage_offset());
  if (auto* node = record<UnsqueezeBackward>(out, self)) node->dim = dim;
  return out;
}

Tensor Tensor::squeeze() const { return tandem::squeeze(*this); }
Tensor Tensor::squeeze(int64_t dim) const { return tandem::squeeze(*this, dim); }
Tensor Tensor::squeeze(IntArrayRef dim) const { return tandem::squeeze(*this, dim); }
Tensor Tensor::unsqueeze(int64_t dim) const { return tandem::unsqueeze(*this, dim); }
Tensor& Tensor::squeeze_() const {
  return become_view(*this, "squeeze_", [](const Tensor& x) { return x.squeeze(); });
}
Tensor& Tensor::squeeze_(int64_t dim) const {
  return become_view(*this, "squeeze_", [dim](const Tensor& x) { return x.squeeze(dim); });
}
Tensor& Tensor::squeeze_(IntArrayRef dim) const {
  return become_view(*this, "squeeze_", [dim](const Tensor& x) { return x.squeeze(dim); });
}
Tensor& Tensor::unsqueeze_(int64_t dim) const {
  return become_view(*this, "unsqueeze_", [dim](const Tensor& x) { return x.unsqueeze(dim); });
}

}  // namespace tandem
