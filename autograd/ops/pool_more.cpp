// Pooling of rows as images of one row, and adaptive maxima by way of windows.
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/cat.h"
#include "tandem/autograd/ops/conv2d.h"
#include "tandem/autograd/ops/pool2d.h"
#include "tandem/autograd/ops/reduce.h"
#include "tandem/autograd/ops/view.h"

namespace tandem {
namespace {

int64_t single(const char* operation, const char* what, IntArrayRef value, int64_t otherwise) {
  check(value.size() <= 1, operation, ": expected one number as ", what, ", got ", value);
  return value.empty() ? otherwise : value[0];
}
void check_row(const char* operation, const Tensor& self) {
  check(self.dim() == 2 || self.dim() == 3, operation, ": expected [N, C, L] or [C, L], got ", self);
}

// Window i of `out` ones over `in`: [begin, end).
int64_t begin_of(int64_t i, int64_t in, int64_t out) { return i * in / out; }
int64_t end_of(int64_t i, int64_t in, int64_t out) { return ((i + 1) * in + out - 1) / out; }

std::tuple<Tensor, Tensor> window_max(const Tensor& self, int64_t top, int64_t bottom, int64_t left,
                                      int64_t right) {
  const auto [value, index] =
      tandem::max(self.narrow(-2, top, bottom - top).narrow(-1, left, right - left).flatten(-2, -1), -1);
  const int64_t width = right - left;
  const Tensor row = index.floor_divide(Scalar(width)), column = index - row * width;
  return {value, (row + top) * self.size(-1) + (column + left)};
}

}  // namespace

Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad) {
  check_row("avg_pool1d", self);
  const int64_t kernel = single("avg_pool1d", "kernel_size", kernel_size, 1);
  return avg_pool2d(self.unsqueeze(-2), {1, kernel}, {1, single("avg_pool1d", "stride", stride, kernel)},
                    {0, single("avg_pool1d", "padding", padding, 0)}, ceil_mode, count_include_pad)
      .squeeze(-2);
}
Tensor adaptive_avg_pool1d(const Tensor& self, IntArrayRef output_size) {
  check_row("adaptive_avg_pool1d", self);
  return adaptive_avg_pool2d(self.unsqueeze(-2),
                             {1, single("adaptive_avg_pool1d", "output_size", output_size, 1)})
      .squeeze(-2);
}

std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, IntArrayRef output_size) {
  check(self.dim() == 3 || self.dim() == 4, "adaptive_max_pool2d: expected [N, C, H, W] or [C, H, W], got ",
        self);
  int64_t out[2];
  autograd::set_pair("adaptive_max_pool2d", "output_size", output_size, 0, out);
  const int64_t h = self.size(-2), w = self.size(-1);
  check(h > 0 && w > 0, "adaptive_max_pool2d: the planes are empty: ", self);
  if (out[0] > 0 && out[1] > 0 && h % out[0] == 0 && w % out[1] == 0)
    return max_pool2d_with_indices(self, {h / out[0], w / out[1]});
  Dims sizes(self.sizes());
  sizes[sizes.size() - 2] = out[0];
  sizes[sizes.size() - 1] = out[1];
  // Held from the beginning: a result that no memory holds is refused before its windows are walked.
  const Tensor none = empty_raw(sizes, self.dtype(), self.device());
  std::vector<Tensor> values, indices;
  for (int64_t i = 0; i < out[0]; ++i)
    for (int64_t j = 0; j < out[1]; ++j) {
      auto [value, index] = window_max(self, begin_of(i, h, out[0]), end_of(i, h, out[0]),
                                       begin_of(j, w, out[1]), end_of(j, w, out[1]));
      values.push_back(value);
      indices.push_back(index);
    }
  if (values.empty()) return {none, empty_raw(sizes, kLong, self.device())};
  return {stack(values, -1).reshape(sizes), stack(indices, -1).reshape(sizes)};
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, IntArrayRef output_size) {
  check_row("adaptive_max_pool1d", self);
  const auto [values, indices] = adaptive_max_pool2d(
      self.unsqueeze(-2), {1, single("adaptive_max_pool1d", "output_size", output_size, 1)});
  return {values.squeeze(-2), indices.squeeze(-2)};
}

}  // namespace tandem
