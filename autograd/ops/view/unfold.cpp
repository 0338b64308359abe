// unfold: windows along a dimension. Gradient: the windows' gradients added at their positions, `step` positions within
// the windows at a time, which do not overlap; this fixes the order of additions.
#include "tandem/autograd/ops/view/unfold.h"

#include <algorithm>
#include <utility>

#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/ops/view/view_op.h"
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
    if (zeros.is_complex()) {
      const Tensor parts = parts_raw(values);
      Dims shape(parts.sizes()), strides(parts.strides());
      for (Dims* d : {&shape, &strides}) std::swap(d->end()[-1], d->end()[-2]);  // the windows come last
      return put(parts_raw(zeros), alias(parts, shape, strides, parts.storage_offset()));
    }
    const auto d = static_cast<std::size_t>(dim);
    Dims shape(values.sizes()), strides(zeros.strides());
    const int64_t element = strides[d], inside = values.stride(-1);
    strides[d] *= step;
    strides.push_back(element);
    for (int64_t k = 0; k < size; k += step) {
      shape.back() = std::min(step, size - k);
      const Tensor target = alias(zeros, shape, strides, k * element);
      const Tensor part = alias(values, shape, values.strides(), values.storage_offset() + k * inside);
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
  check(size <= sizes[d], "unfold: window ", size, " is larger than dimension ", dimension, " of size ", sizes[d],
        "\n  self ", self);
  const int64_t element = strides[d];
  step = std::min(step, sizes[d] + 1);  // a longer step never applies
  sizes[d] = (sizes[d] - size) / step + 1;
  strides[d] = sizes[d] <= 1 ? element : element * step;
  sizes.push_back(size);
  strides.push_back(element);
  Tensor out = make_view(self, sizes, strides, self.storage_offset());
  if (auto* node = record<PickBackward<UnfoldMap>>(out, self)) node->map = {Dims(self.sizes()), dimension, size, step};
  return out;
}

Tensor unfold_backward(const Tensor& grad_in, IntArrayRef input_sizes, int64_t dim, int64_t size, int64_t step) {
  dim = wrap_dim(dim, static_cast<int64_t>(input_sizes.size()));
  check(!input_sizes.empty() && size >= 1 && step >= 1 && size <= input_sizes[static_cast<std::size_t>(dim)],
        "unfold_backward: a window ", size, " with step ", step, " does not fit dimension ", dim, " of ", input_sizes);
  step = std::min(step, input_sizes[static_cast<std::size_t>(dim)] + 1);  // a longer step never applies
  Dims sizes(input_sizes);
  sizes[static_cast<std::size_t>(dim)] = (sizes[static_cast<std::size_t>(dim)] - size) / step + 1;
  sizes.push_back(size);
  check(grad_in.sizes() == IntArrayRef(sizes), "unfold_backward: expected windows ", sizes, " of a tensor ",
        input_sizes, "\n  grad_in ", grad_in);
  UnfoldMap map{Dims(input_sizes), dim, size, step};
  return put_back(map, grad_in);
}

Tensor Tensor::unfold(int64_t dimension, int64_t size, int64_t step) const {
  return tandem::unfold(*this, dimension, size, step);
}

}  // namespace tandem
