// permute and movedim. Gradient: g permuted back.
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

struct PermuteBackward final : NamedNode<PermuteBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0].permute(inverse); }
  Dims inverse;
};

}  // namespace

Tensor permute(const Tensor& self, IntArrayRef dims) {
  const int64_t n = self.dim();
  check(static_cast<int64_t>(dims.size()) == n, "permute: ", dims, " must name each of the ", n, " dimensions of ",
        self);
  dim_mask(dims, n);
  Dims sizes(self.sizes()), strides(self.strides()), inverse(self.sizes());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto from = static_cast<std::size_t>(wrap_dim(dims[i], n));
    sizes[i] = self.sizes()[from];
    strides[i] = self.strides()[from];
    inverse[from] = static_cast<int64_t>(i);
  }
  Tensor out = make_view(self, sizes, strides, self.storage_offset());
  if (auto* node = record<PermuteBackward>(out, self)) node->inverse = inverse;
  return out;
}

Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination) {
  const int64_t n = self.dim();
  check(source.size() == destination.size(), "movedim: ", source, " and ", destination,
        " name different numbers of dimensions");
  if (n == 0) return self;
  const uint32_t taken = dim_mask(source, n, false);
  dim_mask(destination, n, false);
  Dims order(static_cast<std::size_t>(n), -1);
  for (std::size_t i = 0; i < source.size(); ++i)
    order[static_cast<std::size_t>(wrap_dim(destination[i], n))] = wrap_dim(source[i], n);
  int64_t next = 0;
  for (auto& from : order) {
    if (from != -1) continue;
    while ((taken >> next & 1u) != 0) ++next;
    from = next++;
  }
  return permute(self, order);
}
Tensor movedim(const Tensor& self, int64_t source, int64_t destination) {
  return movedim(self, IntArrayRef(source), IntArrayRef(destination));
}

Tensor Tensor::permute(IntArrayRef dims) const { return tandem::permute(*this, dims); }
Tensor Tensor::movedim(int64_t source, int64_t destination) const {
  return tandem::movedim(*this, source, destination);
}

Tensor Tensor::movedim(IntArrayRef source, IntArrayRef destination) const {
  return tandem::movedim(*this, source, destination);
}

}  // namespace tandem
