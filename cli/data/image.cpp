// The files are decoded by libtandem_vision; here they are converted to interleaved pixels and resized.
#include "tandem/cli/data/image.h"

#include <algorithm>
#include <cmath>

#include "tandem/autograd/ops.h"
#include "tandem/core/error.h"
#include "tandem/datasets/vision/image_file.h"

namespace tandem::cli {
namespace {

std::size_t byte_count(const Image& image) {
  return static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height) *
         static_cast<std::size_t>(image.channels);
}

// The source pixels that a new pixel covers, with the weight of each.
struct Span {
  int first;
  std::vector<double> shares;
};

std::vector<Span> spans(int from, int to) {
  std::vector<Span> out;
  const double scale = static_cast<double>(from) / to;
  for (int i = 0; i < to; ++i) {
    const double begin = i * scale, end = (i + 1) * scale;
    Span span{static_cast<int>(begin), {}};
    for (int s = span.first; s < from && s < end; ++s)
      span.shares.push_back((std::min<double>(end, s + 1) - std::max<double>(begin, s)) / scale);
    out.push_back(span);
  }
  return out;
}

}  // namespace

// As a viewer shows the image: with its transparency and gamma.
Image read_image(const std::string& path, uint8_t background) {
  const Tensor planes = vision::read_image(path, {.mode = vision::ImageReadMode::kUnchanged,
                                                  .background = background,
                                                  .max_pixels_a_side = kMaxPixelsASide,
                                                  .max_pixels = kMaxPixels,
                                                  .max_file_bytes = kMaxImageFileBytes});
  Image out{static_cast<int>(planes.size(2)), static_cast<int>(planes.size(1)), static_cast<int>(planes.size(0)), {}};
  const Tensor pixels = planes.permute({1, 2, 0}).contiguous();
  const uint8_t* first = pixels.data_ptr<uint8_t>();
  out.pixels.assign(first, first + pixels.numel());
  return out;
}

Image to_gray(const Image& image) {
  if (image.channels == 1) return image;
  Image gray{image.width, image.height, 1, {}};
  gray.pixels.resize(byte_count(gray));
  for (std::size_t i = 0; i < gray.pixels.size(); ++i) {
    const uint8_t* rgb = &image.pixels[3 * i];
    gray.pixels[i] = static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
  }
  return gray;
}

Image resize(const Image& image, int width, int height) {
  check(width >= 1 && height >= 1 && width <= kMaxPixelsASide && height <= kMaxPixelsASide, "resize: ", width, " x ",
        height, " pixels; expected 1 to ", kMaxPixelsASide, " per side");
  check(int64_t{width} * height <= kMaxPixels, "resize: ", width, " x ", height, " pixels; expected at most ",
        kMaxPixels, " in total");
  if (width == image.width && height == image.height) return image;
  Image out{width, height, image.channels, {}};
  out.pixels.resize(byte_count(out));
  const std::vector<Span> columns = spans(image.width, width), rows = spans(image.height, height);
  std::size_t at = 0;
  for (const Span& row : rows)
    for (const Span& column : columns)
      for (int c = 0; c < image.channels; ++c) {
        double sum = 0;
        for (std::size_t y = 0; y < row.shares.size(); ++y)
          for (std::size_t x = 0; x < column.shares.size(); ++x) {
            const std::size_t pixel =
                static_cast<std::size_t>(row.first + static_cast<int>(y)) * static_cast<std::size_t>(image.width) +
                static_cast<std::size_t>(column.first + static_cast<int>(x));
            sum += row.shares[y] * column.shares[x] *
                   image.pixels[pixel * static_cast<std::size_t>(image.channels) + static_cast<std::size_t>(c)];
          }
        out.pixels[at++] = static_cast<uint8_t>(std::clamp(std::lround(sum), 0L, 255L));
      }
  return out;
}

}  // namespace tandem::cli
