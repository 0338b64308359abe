// Pixel shuffles as permuted views, im2col and col2im.
#include "tandem/autograd/ops/nn/image.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/row_major.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/core/backend/sliding_windows.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem {
namespace {

// Flattens the leading dimensions into one batch dimension.
Tensor as_images(const char* operation, const Tensor& self) {
  check(self.dim() >= 3, operation, ": expected [..., C, H, W], got ", self);
  return self.reshape({-1, self.size(-3), self.size(-2), self.size(-1)});
}
Tensor back(const Tensor& images, const Tensor& self, int64_t c, int64_t h, int64_t w) {
  Dims sizes(self.sizes());
  sizes[sizes.size() - 3] = c;
  sizes[sizes.size() - 2] = h;
  sizes[sizes.size() - 1] = w;
  return images.reshape(sizes);
}

struct Patches {
  std::array<int64_t, 2> kernel, dilation, padding, stride, count;
};
std::string text_of(const std::array<int64_t, 2>& pair) { return concat("(", pair[0], ", ", pair[1], ")"); }
Patches patches_of(const char* operation, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding,
                   IntArrayRef stride, int64_t height, int64_t width) {
  Patches p;
  autograd::set_pair(operation, "kernel_size", kernel, 1, p.kernel);
  autograd::set_pair(operation, "dilation", dilation, 1, p.dilation);
  autograd::set_pair(operation, "padding", padding, 0, p.padding);
  autograd::set_pair(operation, "stride", stride, 1, p.stride);
  const std::array<int64_t, 2> size = {height, width};
  for (std::size_t d = 0; d < 2; ++d) {
    add_sizes(operation, size[d], 2 * p.padding[d]);  // throws if the padded image is too large
    p.count[d] = window_count(size[d], p.kernel[d], p.stride[d], p.padding[d], p.dilation[d]);
  }
  check(p.count[0] >= 1 && p.count[1] >= 1, "Given input with spatial size ", text_of(size),
        ", kernel_size=", text_of(p.kernel), ", dilation=", text_of(p.dilation), ", padding=", text_of(p.padding),
        ", calculated shape of the array of sliding blocks as ", text_of(p.count),
        ", but its components must be at least one. (", operation, ")");
  return p;
}

}  // namespace

Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor) {
  if (const auto to = autograd::in_row_major(self)) return to.restored(pixel_shuffle(to(self), upscale_factor));
  const int64_t r = upscale_factor;
  check(r <= INT32_MAX, "pixel_shuffle: the factor ", r, " is too large");
  check(r > 0 && self.dim() >= 3 && self.size(-3) % (r * r) == 0, "pixel_shuffle: channels must divide by ", r,
        " squared, got ", self);
  const int64_t c = self.size(-3) / (r * r), h = self.size(-2), w = self.size(-1);
  const int64_t height = multiply_sizes("pixel_shuffle", h, r), width = multiply_sizes("pixel_shuffle", w, r);
  if (self.numel() == 0) return back(self, self, c, height, width);
  const Tensor x = as_images("pixel_shuffle", self).reshape({-1, c, r, r, h, w});
  return back(x.permute({0, 1, 4, 2, 5, 3}), self, c, height, width);
}
Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor) {
  if (const auto to = autograd::in_row_major(self)) return to.restored(pixel_unshuffle(to(self), downscale_factor));
  const int64_t r = downscale_factor;
  check(r <= INT32_MAX, "pixel_unshuffle: the factor ", r, " is too large");
  check(r > 0 && self.dim() >= 3 && self.size(-2) % r == 0 && self.size(-1) % r == 0,
        "pixel_unshuffle: height and width must divide by ", r, ", got ", self);
  const int64_t c = self.size(-3), h = self.size(-2) / r, w = self.size(-1) / r;
  const int64_t channels = multiply_sizes("pixel_unshuffle", c, r * r);
  if (self.numel() == 0) return back(self, self, channels, h, w);
  const Tensor x = as_images("pixel_unshuffle", self).reshape({-1, c, h, r, w, r});
  return back(x.permute({0, 1, 3, 5, 2, 4}), self, channels, h, w);
}
Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  if (const auto to = autograd::in_row_major(self)) return to.restored(channel_shuffle(to(self), groups));
  check(groups > 0 && self.dim() >= 3 && self.size(1) % groups == 0,
        "channel_shuffle: expected [N, C, ...] with channels that divide by ", groups, ", got ", self);
  return self.unflatten(1, {groups, self.size(1) / groups}).transpose(1, 2).reshape(self.sizes());
}

Tensor im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
  check(self.dim() == 3 || self.dim() == 4, "im2col: expected [N, C, H, W] or [C, H, W], got ", self);
  if (self.dim() == 3) return im2col(self.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0);
  const Patches p = patches_of("im2col", kernel_size, dilation, padding, stride, self.size(2), self.size(3));
  Tensor x = constant_pad_nd(self, {p.padding[1], p.padding[1], p.padding[0], p.padding[0]});
  for (int d = 0; d < 2; ++d)
    x = x.unfold(d + 2, p.dilation[d] * (p.kernel[d] - 1) + 1, p.stride[d]).slice(-1, nullopt, nullopt, p.dilation[d]);
  return x.permute({0, 1, 4, 5, 2, 3})
      .reshape({self.size(0), multiply_sizes("im2col", self.size(1), p.kernel[0] * p.kernel[1]),
                multiply_sizes("im2col", p.count[0], p.count[1])});
}

Tensor col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
              IntArrayRef padding, IntArrayRef stride) {
  check(self.dim() == 2 || self.dim() == 3, "col2im: expected [N, C kernel, places], got ", self);
  if (self.dim() == 2) return col2im(self.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0);
  std::array<int64_t, 2> out_size;
  autograd::set_pair("col2im", "output_size", output_size, 1, out_size);
  const Patches p = patches_of("col2im", kernel_size, dilation, padding, stride, out_size[0], out_size[1]);
  const int64_t elements = p.kernel[0] * p.kernel[1], n = self.size(0), c = self.size(1) / elements;
  const int64_t places = multiply_sizes("col2im", p.count[0], p.count[1]);
  check(self.size(1) % elements == 0 && self.size(2) == places, "col2im: expected a multiple of ", elements,
        " rows and ", places, " places, got ", self);
  const Tensor columns = self.reshape({n, c, p.kernel[0], p.kernel[1], p.count[0], p.count[1]});
  Tensor out = zeros({n, c, out_size[0] + 2 * p.padding[0], out_size[1] + 2 * p.padding[1]}, self.options());
  for (int64_t i = 0; i < p.kernel[0]; ++i)
    for (int64_t j = 0; j < p.kernel[1]; ++j) {
      const int64_t top = i * p.dilation[0], left = j * p.dilation[1];
      out.slice(2, top, top + (p.count[0] - 1) * p.stride[0] + 1, p.stride[0])
          .slice(3, left, left + (p.count[1] - 1) * p.stride[1] + 1, p.stride[1])
          .add_(columns.select(3, j).select(2, i));
    }
  return out.narrow(2, p.padding[0], out_size[0]).narrow(3, p.padding[1], out_size[1]).contiguous();
}

}  // namespace tandem
