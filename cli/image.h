// Pictures from files: PNG by libpng, and PGM, PPM and PBM (binary and plain), as 8-bit gray or RGB.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::cli {

struct Image {
  int width = 0, height = 0;
  int channels = 1;             ///< 1 gray, 3 RGB
  std::vector<uint8_t> pixels;  ///< height x width x channels, row by row
};

/// At most this many pixels a side, pixels in all, and bytes of a file are read.
inline constexpr int kMostPixelsASide = 16384;
inline constexpr int64_t kMostPixels = 1 << 26;
inline constexpr int64_t kMostImageFileBytes = 256 << 20;

/// What a file is, its first bytes tell. 16-bit samples are rounded to 8, palettes resolved, transparent
/// pixels laid on `background` (0: black). Of a PNG's ancillary chunks only tRNS and gAMA are read, where
/// they are sound; the others, and bytes behind the end, do not matter. Throws Error naming `path` and the
/// reason: no PNG or PNM, broken, too large.
Image read_image(const std::string& path, uint8_t background = 0);
/// The same from memory; `name` stands in the errors.
Image decode_image(const std::vector<uint8_t>& file, const std::string& name, uint8_t background = 0);

/// Writes a gray or RGB PNG (atomically). Throws Error.
void write_png(const std::string& path, const Image& image);

/// Luma of ITU-R BT.601: 0.299 R + 0.587 G + 0.114 B. A gray picture is returned as it is.
Image to_gray(const Image& image);

/// Each new pixel is the mean of the area it covers (a box filter, exact also for fractional scales).
Image resize(const Image& image, int width, int height);

}  // namespace tandem::cli
