// diagonal. Gradient: zeros with g on that diagonal.
#include <algorithm>

#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/ops/view/view_op.h"

namespace tandem {
namespace {
using namespace autograd;

struct Window {
  Dims sizes, strides;
  int64_t offset = 0;
};

Window diagonal_of(IntArrayRef sizes, IntArrayRef strides, int64_t offset, std::size_t d1, std::size_t d2) {
  Window w{Dims(sizes), Dims(strides), 0};
  const int64_t rows = sizes[d1], columns = sizes[d2];
  const int64_t count = offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns);
  if (count > 0) w.offset = offset >= 0 ? offset * strides[d2] : -offset * strides[d1];
  w.sizes.erase(std::max(d1, d2));
  w.sizes.erase(std::min(d1, d2));
  w.strides.erase(std::max(d1, d2));
  w.strides.erase(std::min(d1, d2));
  w.sizes.push_back(std::max<int64_t>(count, 0));
  w.strides.push_back(strides[d1] + strides[d2]);
  return w;
}

struct DiagonalMap {
  static constexpr const char *pick_name = "DiagonalBackward", *put_name = "DiagonalBackwardBackward";
  Tensor pick(const Tensor& x) const { return x.diagonal(offset, dim1, dim2); }
  void put(const Tensor& zeros, const Tensor& values) const {
    const Window w =
        diagonal_of(sizes, zeros.strides(), offset, static_cast<std::size_t>(dim1), static_cast<std::size_t>(dim2));
    copy_to_window(zeros, values, w.strides, w.offset);
  }
  Dims sizes;
  int64_t offset = 0, dim1 = 0, dim2 = 1;
};

}  // namespace

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  check(self.dim() >= 2, "diagonal: expected at least 2 dimensions, got ", self);
  dim1 = wrap_dim(dim1, self.dim());
  dim2 = wrap_dim(dim2, self.dim());
  check(dim1 != dim2, "diagonal: dim1 and dim2 must differ, both are ", dim1);
  const int64_t rows = self.size(dim1), columns = self.size(dim2);
  offset = std::clamp(offset, -rows, columns);
  const Window w =
      diagonal_of(self.sizes(), self.strides(), offset, static_cast<std::size_t>(dim1), static_cast<std::size_t>(dim2));
  Tensor out = make_view(self, w.sizes, w.strides, self.storage_offset() + w.offset);
  if (auto* node = record<PickBackward<DiagonalMap>>(out, self)) node->map = {self.sizes(), offset, dim1, dim2};
  return out;
}

Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  return tandem::diagonal(*this, offset, dim1, dim2);
}

}  // namespace tandem
