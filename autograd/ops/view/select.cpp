// select: one position along a dimension. Gradient: zeros with g at that position.
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/ops/view/view_op.h"

namespace tandem {
namespace {
using namespace autograd;

struct SelectMap {
  static constexpr const char *pick_name = "SelectBackward", *put_name = "SelectBackwardBackward";
  Tensor pick(const Tensor& x) const { return x.select(dim, index); }
  void put(const Tensor& zeros, const Tensor& values) const {
    Dims strides(zeros.strides());
    const int64_t offset = index * strides[static_cast<std::size_t>(dim)];
    strides.erase(static_cast<std::size_t>(dim));
    copy_to_window(zeros, values, strides, offset);
  }
  Dims sizes;
  int64_t dim = 0, index = 0;
};

}  // namespace

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  check_index(self.dim() > 0, "select: invalid index of a 0-dim tensor; use item()");
  dim = wrap_dim(dim, self.dim());
  const auto d = static_cast<std::size_t>(dim);
  const int64_t size = self.sizes()[d];
  check_index(index >= -size && index < size, "select: index ", index, " is out of bounds for dimension ", dim,
              " with size ", size, "\n  self ", self);
  if (index < 0) index += size;
  Dims sizes(self.sizes()), strides(self.strides());
  const int64_t offset = self.storage_offset() + index * strides[d];
  sizes.erase(d);
  strides.erase(d);
  Tensor out = make_view(self, sizes, strides, offset);
  if (auto* node = record<PickBackward<SelectMap>>(out, self)) node->map = {self.sizes(), dim, index};
  return out;
}

Tensor Tensor::select(int64_t dim, int64_t index) const { return tandem::select(*this, dim, index); }

}  // namespace tandem
