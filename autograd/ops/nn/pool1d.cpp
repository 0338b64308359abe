// 1D pooling, computed as 2D pooling of images with one row.
#include "tandem/autograd/ops/nn/pool2d.h"

namespace tandem {
namespace {

int64_t single(const char* operation, const char* what, IntArrayRef value, int64_t otherwise) {
  check(value.size() <= 1, operation, ": expected one number as ", what, ", got ", value);
  return value.empty() ? otherwise : value[0];
}
void check_row(const char* operation, const Tensor& self) {
  check(self.dim() == 2 || self.dim() == 3, operation, ": expected [N, C, L] or [C, L], got ", self);
}

void check_max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                      IntArrayRef dilation) {
  check_row("max_pool1d", self);
  check(kernel_size.size() == 1 && stride.size() <= 1 && padding.size() == 1 && dilation.size() == 1,
        "max_pool1d: kernel_size, stride, padding and dilation must have one number each");
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                   IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  check_max_pool1d(self, kernel_size, stride, padding, dilation);
  const int64_t step = stride.empty() ? kernel_size[0] : stride[0];
  const auto [values, indices] = max_pool2d_with_indices(self.unsqueeze(-2), {1, kernel_size[0]}, {1, step},
                                                         {0, padding[0]}, {1, dilation[0]}, ceil_mode);
  return {values.squeeze(-2), indices.squeeze(-2)};
}
Tensor max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  check_max_pool1d(self, kernel_size, stride, padding, dilation);
  Dims sizes(self.sizes());
  sizes.insert(sizes.size() - 1, 1);
  const int64_t step = stride.empty() ? kernel_size[0] : stride[0];
  const Tensor out =
      max_pool2d(self.reshape(sizes), {1, kernel_size[0]}, {1, step}, {0, padding[0]}, {1, dilation[0]}, ceil_mode);
  sizes = out.sizes();
  sizes.erase(sizes.size() - 2);
  return out.view(sizes);
}
Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                  bool count_include_pad) {
  check_row("avg_pool1d", self);
  const int64_t kernel = single("avg_pool1d", "kernel_size", kernel_size, 1);
  return avg_pool2d(self.unsqueeze(-2), {1, kernel}, {1, single("avg_pool1d", "stride", stride, kernel)},
                    {0, single("avg_pool1d", "padding", padding, 0)}, ceil_mode, count_include_pad)
      .squeeze(-2);
}
Tensor adaptive_avg_pool1d(const Tensor& self, IntArrayRef output_size) {
  check_row("adaptive_avg_pool1d", self);
  return adaptive_avg_pool2d(self.unsqueeze(-2), {1, single("adaptive_avg_pool1d", "output_size", output_size, 1)})
      .squeeze(-2);
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, IntArrayRef output_size) {
  check_row("adaptive_max_pool1d", self);
  const auto [values, indices] =
      adaptive_max_pool2d(self.unsqueeze(-2), {1, single("adaptive_max_pool1d", "output_size", output_size, 1)});
  return {values.squeeze(-2), indices.squeeze(-2)};
}

}  // namespace tandem
