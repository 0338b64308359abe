// adaptive_max_pool2d: max_pool2d if all windows have the same size, else window by window.
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/row_major.h"
#include "tandem/autograd/ops/nn/pool2d.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/cat.h"

namespace tandem {
namespace {

// Bounds [begin, end) of window i when `out` windows cover `in` elements.
int64_t begin_of(int64_t i, int64_t in, int64_t out) { return i * in / out; }
int64_t end_of(int64_t i, int64_t in, int64_t out) { return ((i + 1) * in + out - 1) / out; }

std::tuple<Tensor, Tensor> window_max(const Tensor& self, int64_t top, int64_t bottom, int64_t left, int64_t right) {
  const auto [value, index] =
      tandem::max(self.narrow(-2, top, bottom - top).narrow(-1, left, right - left).flatten(-2, -1), -1);
  const int64_t width = right - left;
  const Tensor row = index.floor_divide(Scalar(width)), column = index - row * width;
  return {value, (row + top) * self.size(-1) + (column + left)};
}

}  // namespace

std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, IntArrayRef output_size) {
  check(self.dim() == 3 || self.dim() == 4, "adaptive_max_pool2d: expected [N, C, H, W] or [C, H, W], got ", self);
  std::array<int64_t, 2> out;
  autograd::set_pair("adaptive_max_pool2d", "output_size", output_size, 0, out);
  const int64_t h = self.size(-2), w = self.size(-1);
  check(h > 0 && w > 0, "adaptive_max_pool2d: the planes are empty: ", self);
  if (out[0] > 0 && out[1] > 0 && h % out[0] == 0 && w % out[1] == 0)
    return max_pool2d_with_indices(self, {h / out[0], w / out[1]});
  Dims sizes(self.sizes());
  sizes[sizes.size() - 2] = out[0];
  sizes[sizes.size() - 1] = out[1];
  if (const auto to = autograd::in_row_major(self)) return to.restored(adaptive_max_pool2d(to(self), output_size));
  // Allocated first, so a result that does not fit in memory is refused before the loop over its windows.
  const Tensor none = empty_raw(sizes, self.dtype(), self.device());
  std::vector<Tensor> values, indices;
  for (int64_t i = 0; i < out[0]; ++i)
    for (int64_t j = 0; j < out[1]; ++j) {
      auto [value, index] =
          window_max(self, begin_of(i, h, out[0]), end_of(i, h, out[0]), begin_of(j, w, out[1]), end_of(j, w, out[1]));
      values.push_back(value);
      indices.push_back(index);
    }
  if (values.empty()) return {none, empty_raw(sizes, kLong, self.device())};
  return {stack(values, -1).reshape(sizes), stack(indices, -1).reshape(sizes)};
}

}  // namespace tandem
