// Internal: the images that the codecs exchange with image_file.cpp.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/datasets/vision/image_file.h"

namespace tandem::vision::detail {

/// Interleaved pixels, row by row.
struct Pixels {
  int width = 0, height = 0;
  int channels = 3;  ///< 1 grey, 3 RGB
  std::vector<uint8_t> bytes;
  int orientation = 1;  ///< EXIF: 1 to 8
};

/// Throws Error unless the size is within the options' limits.
void check_size(int64_t width, int64_t height, const std::string& name, const DecodeOptions& options);

/// Colour stays colour and grey stays grey. They throw as decode_image.
Pixels decode_png(std::string_view file, const std::string& name, const DecodeOptions& options);
Pixels decode_jpeg(std::string_view file, const std::string& name, const DecodeOptions& options);
std::string encode_png(const Pixels& pixels);
std::string encode_jpeg(const Pixels& pixels, int quality);

/// The orientation of an EXIF block, which is a TIFF file without an image: 1 to 8; 1 if it has none or is broken.
int exif_orientation(std::string_view tiff);

}  // namespace tandem::vision::detail
