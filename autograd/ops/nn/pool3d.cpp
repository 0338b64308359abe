// 3D pooling as 2D pooling, twice: of the planes, then along the depth, where each column of the pooled planes is one
// column of an image. Maxima, sums, and counts of windows factor in this way, and the first of equal maxima stays the
// first.
#include "tandem/autograd/ops/nn/pool3d.h"
#include "tandem/autograd/ops/detail/constant.h"
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/detail/row_major.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/nn/pool2d.h"
#include "tandem/autograd/ops/nn/triple.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem {
namespace {

using autograd::triple;
using autograd::Triple;

void check_volume(const char* operation, const Tensor& self) {
  check(self.dim() == 4 || self.dim() == 5, operation, ": expected [N, C, D, H, W] or [C, D, H, W], got ", self);
  check(self.size(-4) > 0 && self.size(-3) > 0 && self.size(-2) > 0 && self.size(-1) > 0, operation,
        ": the volumes are empty: ", self);
}

struct Parameters {
  Triple kernel, stride, padding, dilation;
};
Parameters parameters(const char* operation, const Tensor& self, IntArrayRef kernel, IntArrayRef stride,
                      IntArrayRef padding, IntArrayRef dilation) {
  check_volume(operation, self);
  const Parameters p{triple(operation, "kernel_size", kernel, 1),
                     triple(operation, "stride", stride.empty() ? kernel : stride, 1),
                     triple(operation, "padding", padding, 0), triple(operation, "dilation", dilation, 1)};
  for (std::size_t d = 0; d < 3; ++d)
    check(p.padding[d] <= p.kernel[d] / 2, operation, ": padding ", padding, " must be at most half of the kernel ",
          kernel);
  return p;
}
std::array<int64_t, 2> plane(const Triple& t) { return {t[1], t[2]}; }

// [N, C, D, H, W] as [N C, D, H, W], whose planes 2D pooling takes, and volumes as images [..., D, H W].
Tensor planes(const Tensor& x) { return x.dim() == 5 ? x.flatten(0, 1) : x; }
Tensor columns(const Tensor& x) { return x.flatten(-2, -1); }

// The result of pooling `pooled` (of size [..., D, h, w]) along the depth, back in volumes.
Tensor volumes(const Tensor& result, const Tensor& self, const Tensor& pooled) {
  Dims sizes(self.sizes());
  const std::size_t n = sizes.size();
  sizes[n - 3] = result.size(-2);
  sizes[n - 2] = pooled.size(-2);
  sizes[n - 1] = pooled.size(-1);
  return result.reshape(sizes);
}

std::tuple<Tensor, Tensor> max_pool(const Tensor& self, const Parameters& p, bool ceil_mode) {
  const auto [inner, inner_at] = max_pool2d_with_indices(planes(self), plane(p.kernel), plane(p.stride),
                                                         plane(p.padding), plane(p.dilation), ceil_mode);
  const auto [out, at] = max_pool2d_with_indices(columns(inner), {p.kernel[0], 1}, {p.stride[0], 1}, {p.padding[0], 0},
                                                 {p.dilation[0], 1}, ceil_mode);
  // at = depth (h w) + column, where column is a place in the pooled planes.
  const int64_t count = inner.size(-2) * inner.size(-1);
  const Tensor depth = at.floor_divide(Scalar(count));
  const Tensor in_plane = inner_at.flatten(-3, -1).gather(-1, at.flatten(-2, -1)).view_as(at);
  const Tensor position = depth * (self.size(-2) * self.size(-1)) + in_plane;
  return {volumes(out, self, inner), volumes(position, self, inner)};
}

// Maxima over windows along one dimension, as the maximum over a dimension of a tensor in which every window has the
// size of the largest: shorter ones repeat their last element. Returns positions along the dimension.
struct Windows {
  Tensor maxima, at;
};
Windows adaptive_max(const Tensor& x, int64_t dim, int64_t out) {
  const int64_t in = x.size(dim);
  const auto begin_of = [&](int64_t i) { return i * in / out; };
  const auto end_of = [&](int64_t i) { return ((i + 1) * in + out - 1) / out; };
  int64_t longest = 1;
  for (int64_t i = 0; i < out; ++i) longest = std::max(longest, end_of(i) - begin_of(i));
  const Tensor index = autograd::host_table({multiply_sizes("adaptive_max_pool3d", out, longest)}, kLong);
  for (int64_t i = 0; i < out; ++i)
    for (int64_t k = 0; k < longest; ++k)
      index.ptr<int64_t>()[i * longest + k] = std::min(begin_of(i) + k, end_of(i) - 1);
  const Tensor places = autograd::constant_on(index, x.device());
  const auto [maxima, within] = tandem::max(x.index_select(dim, places).unflatten(dim, {out, longest}), dim + 1);
  Dims shape(x.sizes().size(), 1);
  shape[static_cast<std::size_t>(dim)] = out;
  const Tensor first = arange(out, places.options()).view(shape) * longest;
  return {maxima, places.index_select(0, (within + first).reshape({-1})).view(within.sizes())};
}

}  // namespace

Tensor avg_pool3d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                  bool count_include_pad, optional<int64_t> divisor_override) {
  if (const auto to = autograd::in_full_precision_on_cpu(self))
    return to.rounded(
        avg_pool3d(to(self), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override));
  const Parameters p = parameters("avg_pool3d", self, kernel_size, stride, padding, 1);
  check(divisor_override != 0, "avg_pool3d: divisor_override must not be 0");
  // With a given divisor the first step only sums.
  const optional<int64_t> first = divisor_override ? optional<int64_t>(1) : nullopt;
  const Tensor inner =
      avg_pool2d(planes(self), plane(p.kernel), plane(p.stride), plane(p.padding), ceil_mode, count_include_pad, first);
  const Tensor out = avg_pool2d(columns(inner), {p.kernel[0], 1}, {p.stride[0], 1}, {p.padding[0], 0}, ceil_mode,
                                count_include_pad, divisor_override);
  return volumes(out, self, inner);
}

Tensor max_pool3d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  if (const auto to = autocast::full_precision_on_cpu(self))
    return max_pool3d(to(self), kernel_size, stride, padding, dilation, ceil_mode);
  if (const auto to = autograd::in_row_major(self); to && self.dim() == 5)
    return to.restored(max_pool3d(to(self), kernel_size, stride, padding, dilation, ceil_mode));
  const Parameters p = parameters("max_pool3d", self, kernel_size, stride, padding, dilation);
  const Tensor inner =
      max_pool2d(planes(self), plane(p.kernel), plane(p.stride), plane(p.padding), plane(p.dilation), ceil_mode);
  const Tensor out =
      max_pool2d(columns(inner), {p.kernel[0], 1}, {p.stride[0], 1}, {p.padding[0], 0}, {p.dilation[0], 1}, ceil_mode);
  return volumes(out, self, inner);
}

std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                   IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  if (const auto to = autograd::in_row_major(self); to && self.dim() == 5)
    return to.restored(max_pool3d_with_indices(to(self), kernel_size, stride, padding, dilation, ceil_mode));
  const Parameters p = parameters("max_pool3d_with_indices", self, kernel_size, stride, padding, dilation);
  return max_pool(self, p, ceil_mode);
}

Tensor adaptive_avg_pool3d(const Tensor& self, IntArrayRef output_size) {
  if (const auto to = autograd::in_full_precision_on_cpu(self))
    return to.rounded(adaptive_avg_pool3d(to(self), output_size));
  check_volume("adaptive_avg_pool3d", self);
  const Triple out = triple("adaptive_avg_pool3d", "output_size", output_size, 0);
  const Tensor inner = adaptive_avg_pool2d(planes(self), plane(out));
  if (inner.numel() == 0 || out[0] == 0) {
    Dims sizes(self.sizes());
    for (std::size_t d = 0; d < 3; ++d) sizes[sizes.size() - 3 + d] = out[d];
    return empty_raw(sizes, self.dtype(), self.device());
  }
  return volumes(adaptive_avg_pool2d(columns(inner), {out[0], out[1] * out[2]}), self, inner);
}

std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Tensor& self, IntArrayRef output_size) {
  if (const auto to = autocast::full_precision_on_cpu(self)) return adaptive_max_pool3d(to(self), output_size);
  check_volume("adaptive_max_pool3d", self);
  const Triple out = triple("adaptive_max_pool3d", "output_size", output_size, 0);
  Dims sizes(self.sizes());
  for (std::size_t d = 0; d < 3; ++d) sizes[sizes.size() - 3 + d] = out[d];
  // Allocated first, so a result that does not fit in memory is refused before any work.
  const Tensor none = empty_raw(sizes, self.dtype(), self.device());
  if (none.numel() == 0) return {none, empty_raw(sizes, kLong, self.device())};
  const int64_t last = self.dim() - 1;
  const Windows w = adaptive_max(self, last, out[2]);
  const Windows h = adaptive_max(w.maxima, last - 1, out[1]);
  const Windows d = adaptive_max(h.maxima, last - 2, out[0]);
  // A position along w was chosen for every row, one along h for every plane.
  const Tensor row = h.at * self.size(-1) + w.at.gather(last - 1, h.at);
  return {d.maxima, d.at * (self.size(-2) * self.size(-1)) + row.gather(last - 2, d.at)};
}

namespace {

Tensor unpool(const char* operation, const Tensor& self, const Tensor& indices, IntArrayRef output_size) {
  if (const auto to = autocast::full_precision_on_cpu(self)) return unpool(operation, to(self), indices, output_size);
  const auto rank = static_cast<int64_t>(output_size.size());
  check(self.dim() == rank + 1 || self.dim() == rank + 2, operation, ": expected ", rank + 1, " or ", rank + 2,
        " dimensions, got ", self);
  check(indices.dtype() == kLong && indices.sizes() == self.sizes(), operation,
        ": indices must be int64 with the shape of self\n  self    ", self, "\n  indices ", indices);
  Dims sizes(self.sizes());
  int64_t volume = 1;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = output_size[static_cast<std::size_t>(d)];
    check(size >= 0, operation, ": output_size must not be negative, got ", output_size);
    volume = multiply_sizes(operation, volume, size);
    sizes[sizes.size() - static_cast<std::size_t>(rank - d)] = size;
  }
  Dims flat(self.sizes());
  for (int64_t d = 1; d < rank; ++d) flat.pop_back();
  flat[flat.size() - 1] = volume;
  const Tensor blank = zeros(flat, self.options().requires_grad(false));
  if (self.numel() == 0) return blank.view(sizes);
  return blank.scatter(-1, indices.flatten(-rank, -1), self.flatten(-rank, -1)).view(sizes);
}

}  // namespace

Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntArrayRef output_size) {
  check(output_size.size() == 2, "max_unpool2d: expected two numbers as output_size, got ", output_size);
  return unpool("max_unpool2d", self, indices, output_size);
}
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, IntArrayRef output_size, IntArrayRef stride,
                    IntArrayRef padding) {
  check(output_size.size() == 3 && stride.size() == 3 && padding.size() == 3,
        "max_unpool3d: expected three numbers each, got output_size ", output_size, ", stride ", stride, ", padding ",
        padding);
  for (const int64_t s : stride) check(s > 0, "max_unpool3d: strides must be positive, got ", stride);
  return unpool("max_unpool3d", self, indices, output_size);
}

}  // namespace tandem
