// Image files: decodes PNG and JPEG to uint8 tensors [C, H, W], and writes them. Names as in torchvision.io.
//
// A colour image has the values that Pillow's ImageOps.exif_transpose(image).convert("RGB") gives, except that
// 16-bit PNG samples are rounded to 8 bits (Pillow cuts off the lower byte of colours, and values above 255 of
// grey images). Files are untrusted: sizes are checked before memory is allocated, and a file that is truncated
// or otherwise broken is an Error that names it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem::vision {

/// The channels of a decoded image: as in the file (1 or 3, without alpha), grey (ITU-R BT.601 luma), or RGB.
enum class ImageReadMode : uint8_t { kUnchanged, kGray, kRGB };

struct DecodeOptions {
  ImageReadMode mode = ImageReadMode::kRGB;
  /// Turns and mirrors the image as its EXIF orientation says.
  bool apply_exif_orientation = true;
  /// For PNG: shows the image as a viewer does, with transparent pixels on this shade of grey, and with the
  /// file's gamma. Default: transparency and gamma are ignored.
  optional<uint8_t> background = nullopt;
  int64_t max_pixels_a_side = 65535;
  int64_t max_pixels = int64_t{1} << 26;  ///< in total; a progressive JPEG needs up to 11 bytes per pixel
  uint64_t max_file_bytes = uint64_t{256} << 20;
};

/// `file` is the content of a PNG or JPEG file; error messages use `name`. Returns a contiguous CPU tensor. Ignores
/// bytes after the image and broken PNG chunks that have no effect on it. Throws Error if the file is of another kind,
/// broken or too large, and on a JPEG if this build has no libjpeg.
Tensor decode_image(std::string_view file, const std::string& name, const DecodeOptions& options = {});
/// The same from a file.
Tensor read_image(const std::string& path, const DecodeOptions& options = {});

/// Whether the name ends with .jpg, .jpeg or .png, in any case.
bool has_image_ending(std::string_view path);

/// Whether JPEG files can be read and written: whether this was built with libjpeg.
bool has_jpeg();

/// The content of a PNG or JPEG file. `image`: uint8 [1, H, W] (grey) or [3, H, W] (RGB) of any device and strides.
/// `quality`: 1 to 100. Throws Error on other tensors and on sides above 65535 (JPEG: 65500).
std::string encode_png(const Tensor& image);
std::string encode_jpeg(const Tensor& image, int quality = 75);
/// Writes the file atomically. Throws Error as above, and if it cannot be written.
void write_png(const Tensor& image, const std::string& path);
void write_jpeg(const Tensor& image, const std::string& path, int quality = 75);

}  // namespace tandem::vision
