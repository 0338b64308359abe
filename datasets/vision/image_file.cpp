// Turns files into tensors and back: handles the kind of file, the layout and the orientation; the codecs do the rest.
#include "tandem/datasets/vision/image_file.h"

#include <algorithm>
#include <filesystem>

#include "tandem/core/base/atomic_file.h"
#include "tandem/core/error.h"
#include "tandem/datasets/gz_input.h"
#include "tandem/datasets/vision/pixels.h"

namespace tandem::vision {
namespace detail {

void check_size(int64_t width, int64_t height, const std::string& name, const DecodeOptions& options) {
  const int64_t side = std::min<int64_t>(options.max_pixels_a_side, 1'000'000);
  check(width >= 1 && height >= 1 && width <= side && height <= side, name, ": ", width, " x ", height,
        " pixels; expected 1 to ", side, " per side");
  check(width * height <= options.max_pixels, name, ": ", width, " x ", height, " pixels; expected at most ",
        options.max_pixels, " in total");
}

namespace {

// Where the pixel (y, x) of the upright image is among the stored ones, as an affine function.
struct Layout {
  int64_t height, width, start, per_y, per_x;
};

Layout upright(const Pixels& p) {
  const int64_t w = p.width, h = p.height;
  const bool turned = p.orientation >= 5;
  // Whether the stored image is to be mirrored horizontally and vertically, before its axes are swapped.
  const bool mirror_x = p.orientation == 2 || p.orientation == 3 || p.orientation == 7 || p.orientation == 8;
  const bool mirror_y = p.orientation == 3 || p.orientation == 4 || p.orientation == 6 || p.orientation == 7;
  const int64_t x = mirror_x ? -1 : 1, y = mirror_y ? -w : w;
  const int64_t start = (mirror_x ? w - 1 : 0) + (mirror_y ? (h - 1) * w : 0);
  return turned ? Layout{w, h, start, x, y} : Layout{h, w, start, y, x};
}

uint8_t luma(const uint8_t* rgb) {  // 0.299 R + 0.587 G + 0.114 B with 16 fractional bits
  return static_cast<uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

// One channel of the tensor; `value(pixel)` computes it from an interleaved pixel.
template <class Value>
void fill_plane(uint8_t* to, const Pixels& p, const Layout& layout, const Value& value) {
  const int64_t step = layout.per_x * p.channels;
  for (int64_t y = 0; y < layout.height; ++y) {
    const uint8_t* from = p.bytes.data() + (layout.start + y * layout.per_y) * p.channels;
    for (int64_t x = 0; x < layout.width; ++x) *to++ = value(from + x * step);
  }
}

Tensor to_tensor(const Pixels& p, ImageReadMode mode) {
  const Layout layout = upright(p);
  const int64_t channels = mode == ImageReadMode::kGray ? 1 : mode == ImageReadMode::kRGB ? 3 : int64_t{p.channels};
  Tensor out = empty_raw({channels, layout.height, layout.width}, kByte, Device(kCPU, 0));
  uint8_t* to = out.data_ptr<uint8_t>();
  if (channels == 1 && p.channels == 3) {
    fill_plane(to, p, layout, luma);
    return out;
  }
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t from = p.channels == 1 ? 0 : c;
    fill_plane(to + c * layout.height * layout.width, p, layout, [from](const uint8_t* pixel) { return pixel[from]; });
  }
  return out;
}

Pixels to_pixels(const Tensor& image, const char* function, int64_t most) {
  check(image.dtype() == kByte && image.dim() == 3 && (image.size(0) == 1 || image.size(0) == 3), function,
        ": expected a uint8 image [1, H, W] or [3, H, W], got ", image);
  const int64_t height = image.size(1), width = image.size(2);
  check(height >= 1 && width >= 1 && height <= most && width <= most, function, ": ", width, " x ", height,
        " pixels; expected 1 to ", most, " per side");
  const Tensor planes = image.detach().cpu().contiguous();
  Pixels out{static_cast<int>(width), static_cast<int>(height), static_cast<int>(image.size(0)), {}, 1};
  out.bytes.resize(static_cast<std::size_t>(image.numel()));
  const uint8_t* from = planes.data_ptr<uint8_t>();
  for (int64_t c = 0; c < out.channels; ++c)
    for (int64_t i = 0; i < height * width; ++i) out.bytes[static_cast<std::size_t>(i * out.channels + c)] = *from++;
  return out;
}

}  // namespace
}  // namespace detail

bool has_image_ending(std::string_view path) {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

Tensor decode_image(std::string_view file, const std::string& name, const DecodeOptions& options) {
  const char* const expected = "expected a PNG or JPEG image";
  check(!file.empty(), name, ": the file is empty; ", expected);
  if (file.starts_with("\x89PNG\r\n\x1a\n"))
    return detail::to_tensor(detail::decode_png(file, name, options), options.mode);
  if (file.starts_with("\xff\xd8")) return detail::to_tensor(detail::decode_jpeg(file, name, options), options.mode);
  fail(name, ": another kind of file; ", expected);
}

Tensor read_image(const std::string& path, const DecodeOptions& options) {
  data::GzInput input(path);
  check(input.file_bytes() <= options.max_file_bytes, path, ": ", input.file_bytes(),
        " bytes; an image file may have at most ", options.max_file_bytes, " bytes");
  check(!input.is_gzip(), path, ": a gzip file; expected a PNG or JPEG image");
  std::string file(input.file_bytes(), '\0');
  file.resize(input.read(file.data(), file.size()));
  return decode_image(file, path, options);
}

std::string encode_png(const Tensor& image) {
  return detail::encode_png(detail::to_pixels(image, "encode_png", 65535));
}

std::string encode_jpeg(const Tensor& image, int quality) {
  check(quality >= 1 && quality <= 100, "encode_jpeg: quality ", quality, "; expected 1 to 100");
  return detail::encode_jpeg(detail::to_pixels(image, "encode_jpeg", 65500), quality);
}

void write_png(const Tensor& image, const std::string& path) { write_file_atomically(path, encode_png(image)); }
void write_jpeg(const Tensor& image, const std::string& path, int quality) {
  write_file_atomically(path, encode_jpeg(image, quality));
}

}  // namespace tandem::vision
