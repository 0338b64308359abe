// Reads PNG and JPEG images as 8-bit gray or RGB.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::cli {

struct Image {
  int width = 0, height = 0;
  int channels = 1;             ///< 1 gray, 3 RGB
  std::vector<uint8_t> pixels;  ///< height x width x channels, row-major
};

/// Limits: pixels per side, pixels in total, bytes of a file.
inline constexpr int kMaxPixelsASide = 16384;
inline constexpr int64_t kMaxPixels = 1 << 26;
inline constexpr uint64_t kMaxImageFileBytes = 256 << 20;

/// Rounds 16-bit samples to 8 bits, resolves palettes, composites transparent pixels onto `background` (0: black),
/// and turns the image as its EXIF orientation says. Of the other ancillary chunks of a PNG, only valid tRNS and gAMA
/// chunks are used; the others, and bytes after the end, are ignored. Throws Error naming `path` and the reason: not an
/// image, broken, too large, a JPEG in a build without libjpeg.
Image read_image(const std::string& path, uint8_t background = 0);

/// Luma of ITU-R BT.601: 0.299 R + 0.587 G + 0.114 B. A gray image is returned unchanged.
Image to_gray(const Image& image);

/// Each new pixel is the mean of the area it covers (a box filter, exact for fractional scales, too).
Image resize(const Image& image, int width, int height);

}  // namespace tandem::cli
