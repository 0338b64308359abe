// Geometry and conversions; adjust_colors.cpp has the colours, resample.cpp the arithmetic of resize.
#include "tandem/datasets/vision/functional.h"

#include <algorithm>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/error.h"
#include "tandem/datasets/vision/check_image.h"
#include "tandem/datasets/vision/resample.h"

namespace tandem::vision {
namespace detail {

void check_image(const Tensor& image, const char* function) {
  check(image.dim() == 3 && image.numel() > 0 && image.is_cpu(), function,
        ": expected an image [C, H, W] on the CPU, got ", image);
}

}  // namespace detail

namespace functional {
namespace {

void check_target(ImageSize size, const char* function) {
  check(size.height >= 1 && size.width >= 1 && size.height <= 65535 && size.width <= 65535, function, ": size ",
        size.height, " x ", size.width, "; expected 1 to 65535 per side");
}

// A long side, because the longest image with a shorter side of 256 pixels has one. `whole`: all of the pixels
// are made, and a small file must not ask for gigabytes.
void check_resize(const Tensor& image, ImageSize size, bool whole) {
  constexpr int64_t kMaxSide = 1 << 24, kMaxPixels = 1 << 28;
  detail::check_image(image, "resize");
  check(size.height >= 1 && size.width >= 1 && size.height <= kMaxSide && size.width <= kMaxSide, "resize: size ",
        size.height, " x ", size.width, "; expected 1 to ", kMaxSide, " per side");
  check(!whole || size.height * size.width <= kMaxPixels, "resize: size ", size.height, " x ", size.width,
        "; expected at most ", kMaxPixels, " pixels");
  check(image.dtype() == kByte || image.dtype() == kFloat, "resize: expected a uint8 or float32 image, got ", image);
}

template <class T>
Tensor resized(const Tensor& image, const detail::Axis& rows, const detail::Axis& columns, InterpolationMode mode) {
  const Tensor from = image.detach().contiguous();
  Tensor out = empty_raw({image.size(0), rows.count, columns.count}, image.dtype(), image.device());
  detail::resample(out.data_ptr<T>(), rows, columns, from.data_ptr<T>(), image.size(0), image.size(1), image.size(2),
                   mode);
  return out;
}
Tensor resized(const Tensor& image, const detail::Axis& rows, const detail::Axis& columns, InterpolationMode mode) {
  return image.dtype() == kByte ? resized<uint8_t>(image, rows, columns, mode)
                                : resized<float>(image, rows, columns, mode);
}

// Where the middle starts. An odd margin is rounded to an even number, as Python's round does.
int64_t middle_start(int64_t length, int64_t kept) {
  const int64_t margin = length - kept, half = margin / 2;
  if (margin < 0) return -(-margin / 2);
  return margin % 2 == 0 ? half : half + half % 2;
}

}  // namespace

Tensor resize(const Tensor& image, ImageSize size, InterpolationMode mode) {
  check_resize(image, size, true);
  return resized(image, {size.height, 0, size.height}, {size.width, 0, size.width}, mode);
}

Tensor resize_and_center_crop(const Tensor& image, ImageSize size, ImageSize part, InterpolationMode mode) {
  check_resize(image, size, false);
  check_target(part, "center_crop");
  if (part.height > size.height || part.width > size.width) return center_crop(resize(image, size, mode), part);
  return resized(image, {size.height, middle_start(size.height, part.height), part.height},
                 {size.width, middle_start(size.width, part.width), part.width}, mode);
}

ImageSize size_with_shorter_side(ImageSize size, int64_t side) {
  const int64_t shorter = std::min(size.height, size.width);
  check(shorter >= 1 && side >= 1, "resize: a side of ", std::min(shorter, side), " pixels");
  const auto scaled = [&](int64_t length) {
    if (length == shorter) return side;
    return static_cast<int64_t>(static_cast<double>(side * length) / static_cast<double>(shorter));
  };
  return {scaled(size.height), scaled(size.width)};
}

Tensor crop(const Tensor& image, int64_t top, int64_t left, ImageSize size) {
  detail::check_image(image, "crop");
  check_target(size, "crop");
  check(std::abs(top) <= 1 << 24 && std::abs(left) <= 1 << 24, "crop: starts at row ", top, ", column ", left);
  const int64_t y0 = std::max<int64_t>(top, 0), y1 = std::min(top + size.height, image.size(1));
  const int64_t x0 = std::max<int64_t>(left, 0), x1 = std::min(left + size.width, image.size(2));
  if (y0 >= y1 || x0 >= x1) return zeros({image.size(0), size.height, size.width}, image.dtype());
  const Tensor inside = image.slice(1, y0, y1).slice(2, x0, x1);
  if (y1 - y0 == size.height && x1 - x0 == size.width) return inside;
  Tensor out = zeros({image.size(0), size.height, size.width}, image.dtype());
  out.slice(1, y0 - top, y1 - top).slice(2, x0 - left, x1 - left).copy_(inside);
  return out;
}

Tensor center_crop(const Tensor& image, ImageSize size) {
  detail::check_image(image, "center_crop");
  return crop(image, middle_start(image.size(1), size.height), middle_start(image.size(2), size.width), size);
}

Tensor pad(const Tensor& image, int64_t margin, double fill) {
  detail::check_image(image, "pad");
  check(margin >= 0 && margin <= 65535, "pad: a margin of ", margin, " pixels");
  const int64_t height = image.size(1), width = image.size(2);
  Tensor out = full({image.size(0), height + 2 * margin, width + 2 * margin}, fill, image.dtype());
  out.slice(1, margin, margin + height).slice(2, margin, margin + width).copy_(image);
  return out;
}

Tensor hflip(const Tensor& image) {
  detail::check_image(image, "hflip");
  return image.flip({2});
}

Tensor vflip(const Tensor& image) {
  detail::check_image(image, "vflip");
  return image.flip({1});
}

Tensor convert_image_dtype(const Tensor& image, ScalarType dtype) {
  detail::check_image(image, "convert_image_dtype");
  if (image.dtype() == kByte && dtype == kFloat) {
    const Tensor from = image.contiguous();
    Tensor out = empty_raw(from.sizes(), kFloat, from.device());
    std::transform(from.data_ptr<uint8_t>(), from.data_ptr<uint8_t>() + from.numel(), out.data_ptr<float>(),
                   [](uint8_t v) { return static_cast<float>(v) / 255.0f; });
    return out;
  }
  // 255.999 gives each level an equal share of the interval.
  if (image.dtype() == kFloat && dtype == kByte) return image.mul(255.999).clamp(0, 255).to(kByte);
  return image.to(dtype);
}

Tensor normalize(const Tensor& image, ArrayRef<double> mean, ArrayRef<double> stddev) {
  detail::check_image(image, "normalize");
  check(image.dtype() == kFloat, "normalize: expected a float32 image (ConvertImageDtype makes one), got ", image);
  const int64_t channels = image.size(0), area = image.size(1) * image.size(2);
  for (const auto& values : {mean, stddev})
    check(values.size() == 1 || static_cast<int64_t>(values.size()) == channels, "normalize: ", values.size(),
          " values for ", channels, " channels");
  const Tensor from = image.contiguous();
  Tensor out = empty_raw(from.sizes(), kFloat, from.device());
  for (int64_t c = 0; c < channels; ++c) {
    const auto m = static_cast<float>(mean[mean.size() == 1 ? 0 : static_cast<std::size_t>(c)]);
    const auto s = static_cast<float>(stddev[stddev.size() == 1 ? 0 : static_cast<std::size_t>(c)]);
    check(s != 0, "normalize: a standard deviation is 0");
    const float* first = from.data_ptr<float>() + c * area;
    std::transform(first, first + area, out.data_ptr<float>() + c * area, [m, s](float v) { return (v - m) / s; });
  }
  return out;
}

}  // namespace functional
}  // namespace tandem::vision
