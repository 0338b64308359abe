// expand and broadcast_tensors. Gradient: g summed over the repeated dimensions.
#include "tandem/autograd/ops/reduce/sum_to.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

struct ExpandBackward final : NamedNode<ExpandBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = sum_to_size(g[0], sizes, "expand"); }
  Dims sizes;
};

}  // namespace

Tensor expand(const Tensor& self, IntArrayRef size) {
  const std::size_t n = self.sizes().size();
  check(size.size() >= n, "expand: ", size, " has fewer dimensions than the tensor ", self);
  const std::size_t extra = size.size() - n;
  Dims sizes(size), strides(size.size(), 0);
  for (std::size_t d = 0; d < size.size(); ++d) {
    const bool own = d >= extra;
    const int64_t old = own ? self.sizes()[d - extra] : 1;
    check(size[d] >= 0 || (size[d] == -1 && own), "expand: bad size ", size[d], " in ", size);
    if (size[d] == -1) sizes[d] = old;
    check(sizes[d] == old || old == 1, "expand: ", self, " cannot be expanded to ", size, " at dimension ", d);
    if (own && (old != 1 || sizes[d] == 1)) strides[d] = self.strides()[d - extra];
  }
  Tensor out = make_view(self, sizes, strides, self.storage_offset());
  if (auto* node = record<ExpandBackward>(out, self)) node->sizes = self.sizes();
  return out;
}

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  Dims sizes;
  for (const Tensor& t : tensors) sizes = broadcast_sizes(sizes, t.sizes(), "broadcast_tensors");
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(t.expand(sizes));
  return out;
}

Tensor Tensor::expand(IntArrayRef size, bool) const { return tandem::expand(*this, size); }

}  // namespace tandem
