// unfold: windows along a dimension. Gradient: the windows' gradients added at their positions, one position
// within the window at a time, which fixes the order of additions.
#include <algorithm>

#include "tandem/autograd/ops/view.h"
#include "tandem/autograd/ops/view_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/binary.h"

namespace tandem {
namespace {
using namespace autograd;

struct UnfoldMap {
  static constexpr const char *pick_name = "UnfoldBackward", *put_name = "UnfoldBackwardBackward";
  Tensor pick(const Tensor& x) const { return x.unfold(dim, size, step); }
  void put(const Tensor& zeros, const Tensor& values) const {
    if (values.numel() == 0) return;
    const auto d = static_cast<std::size_t>(dim);
    Dims shape(zeros.sizes()), strides(zeros.strides()), from(values.strides());
    shape[d] = values.sizes()[d];
    const int64_t element = strides[d], inside = from.back();
    strides[d] *= step;
    from.pop_back();
    for (int64_t k = 0; k < size; ++k) {
      const Tensor target = alias(zeros, shape, strides, k * element);
      const Tensor part = alias(values, shape, from, values.storage_offset() + k * inside);
      backend(zeros).binary.value.get<ops::Add>()(target, target, part, 1);
    }
  }
  Dims sizes;
  int64_t dim = 0, size = 0, step = 1;
};

Tensor unfold_number(const Tensor& self, int64_t size) {
  check(size <= 1, "unfold: window ", size, " is larger than dimension 0 of size 1");
  return size == 1 ? self.reshape({1}) : self.reshape({1}).slice(0, 0, 0);
}

}  // namespace

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  dimension = wrap_dim(dimension, self.dim());
  check(size >= 0 && step > 0, "unfold: expected size >= 0 and step > 0, got ", size, " and ", step);
  if (self.dim() == 0) return unfold_number(self, size);
  const auto d = static_cast<std::size_t>(dimension);
  Dims sizes(self.sizes()), strides(self.strides());
  check(size <= sizes[d], "unfold: window ", size, " is larger than dimension ", dimension, " of size ",
        sizes[d], "\n  self ", self);
  const int64_t element = strides[d];
  step = std::min(step, sizes[d] + 1);  // a longer step never applies
  sizes[d] = (sizes[d] - size) / step + 1;
  strides[d] = sizes[d] <= 1 ? element : element * step;
  sizes.push_back(size);
  strides.push_back(element);
  Tensor out = make_view(self, sizes, strides, self.storage_offset());
  if (auto* node = record<PickBackward<UnfoldMap>>(out, self)) {
    node->map.sizes = self.sizes();
    node->map.dim = dimension;
    node->map.size = size;
    node->map.step = step;
  }
  return out;
}

Tensor Tensor::unfold(int64_t dimension, int64_t size, int64_t step) const {
  return tandem::unfold(*this, dimension, size, step);
}

}  // namespace tandem
