// slice and narrow: positions start, start + step, … along a dimension. Gradient: zeros with g there.
#include <algorithm>

#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/ops/view/view_op.h"

namespace tandem {
namespace {
using namespace autograd;

struct SliceMap {
  static constexpr const char *pick_name = "SliceBackward", *put_name = "SliceBackwardBackward";
  Tensor pick(const Tensor& x) const { return x.slice(dim, start, end, step); }
  void put(const Tensor& zeros, const Tensor& values) const {
    Dims strides(zeros.strides());
    const int64_t offset = start * strides[static_cast<std::size_t>(dim)];
    strides[static_cast<std::size_t>(dim)] *= step;
    copy_to_window(zeros, values, strides, offset);
  }
  Dims sizes;
  int64_t dim = 0, start = 0, end = 0, step = 1;
};

}  // namespace

Tensor slice(const Tensor& self, int64_t dim, optional<int64_t> start, optional<int64_t> end, int64_t step) {
  check_index(self.dim() > 0, "slice: a 0-dim tensor cannot be sliced");
  check(step > 0, "slice: the step must be positive, got ", step);
  dim = wrap_dim(dim, self.dim());
  const auto d = static_cast<std::size_t>(dim);
  const int64_t size = self.sizes()[d];
  const auto cut = [size](int64_t at, int64_t low) { return std::clamp(at < 0 ? at + size : at, low, size); };
  const int64_t from = start ? cut(*start, 0) : 0, to = end ? cut(*end, from) : size;
  const int64_t count = to == from ? 0 : (to - from - 1) / step + 1;
  step = std::min(step, std::max<int64_t>(size, 1));
  Dims sizes(self.sizes()), strides(self.strides());
  const int64_t offset = self.storage_offset() + from * strides[d];
  sizes[d] = count;
  strides[d] *= step;
  Tensor out = make_view(self, sizes, strides, offset);
  if (auto* node = record<PickBackward<SliceMap>>(out, self)) node->map = {self.sizes(), dim, from, to, step};
  return out;
}

Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  check(self.dim() > 0, "narrow: a 0-dim tensor cannot be narrowed");
  dim = wrap_dim(dim, self.dim());
  const int64_t size = self.size(dim), from = start < 0 ? start + size : start;
  check(length >= 0, "narrow: length must not be negative, got ", length);
  check_index(from >= 0 && from <= size, "narrow: start ", start, " is out of range: dimension ", dim, " has size ",
              size, "\n  self ", self);
  check(length <= size - from, "narrow: start ", start, " and length ", length, " exceed dimension ", dim, " of size ",
        size, "\n  self ", self);
  return slice(self, dim, from, from + length);
}

Tensor narrow(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  check(start.dim() == 0 && is_integral(start.dtype(), false), "narrow: start must be an 0-dim integral Tensor, got ",
        start);
  return narrow(self, dim, start.item<int64_t>(), length);
}

Tensor Tensor::slice(int64_t dim, optional<int64_t> start, optional<int64_t> end, int64_t step) const {
  return tandem::slice(*this, dim, start, end, step);
}
Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const {
  return tandem::narrow(*this, dim, start, length);
}
Tensor Tensor::narrow(int64_t dim, const Tensor& start, int64_t length) const {
  return tandem::narrow(*this, dim, start, length);
}

}  // namespace tandem
