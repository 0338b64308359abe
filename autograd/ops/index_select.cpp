// index_select. Gradient: zeros with g added at the index.
#include "tandem/autograd/ops/index_select.h"

#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend.h"

namespace tandem {
namespace {
using namespace autograd;

struct IndexSelectBackward final : Node {
  const char* name() const override { return "IndexSelectBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    out[0] = zeros(sizes, g[0].options()).index_add(dim, index.unpack(*this), g[0]);
  }
  void release() override { index.release(); }
  Dims sizes;
  int64_t dim = 0;
  SavedTensor index;
};

}  // namespace

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  dim = wrap_dim(dim, self.dim());
  check(index.dim() <= 1 && (index.dtype() == kLong || index.dtype() == kInt),
        "index_select: expected a 1-D index of int64 or int32, got ", index);
  check(self.device() == index.device(), "index_select: devices differ\n  self  ", self, "\n  index ", index);
  const Tensor positions = index.to(kLong);
  if (self.dim() == 0) {
    check(index.numel() == 1, "index_select: a 0-dim tensor takes one index, got ", index);
    check_index(positions.item<int64_t>() == 0, "index_select: index ", positions.item<int64_t>(),
                " is out of range");
    return self.clone();
  }
  Dims sizes(self.sizes());
  sizes[static_cast<std::size_t>(dim)] = index.numel();
  Tensor out = empty_raw(sizes, self.dtype(), self.device());
  backend(self).index.index_select(out, self, dim, positions);
  if (auto* node = record<IndexSelectBackward>(out, self)) {
    node->sizes = self.sizes();
    node->dim = dim;
    node->index.save(positions);
  }
  return out;
}

Tensor Tensor::index_select(int64_t dim, const Tensor& index) const {
  return tandem::index_select(*this, dim, index);
}

}  // namespace tandem
