// PNG is decoded with libpng's simplified interface.
#include "tandem/cli/image.h"

#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tandem/core/atomic_file.h"
#include "tandem/core/error.h"
#include "tandem/datasets/gz_input.h"

namespace tandem::cli {
namespace {

void check_size(int64_t width, int64_t height, const std::string& name) {
  check(width >= 1 && height >= 1 && width <= kMostPixelsASide && height <= kMostPixelsASide, name, ": ",
        width, " x ", height, " pixels; expected 1 to ", kMostPixelsASide, " per side");
  check(width * height <= kMostPixels, name, ": ", width, " x ", height, " pixels; expected at most ",
        kMostPixels, " in total");
}

std::size_t byte_count(const Image& image) {
  return static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height) *
         static_cast<std::size_t>(image.channels);
}

// Frees libpng's memory on every path out of the scope.
struct PngImage : png_image {
  PngImage() : png_image{} { version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(this); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

uint32_t big_endian(const uint8_t* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
}

// One chunk of a PNG: length, type, content, CRC.
struct Chunk {
  const uint8_t* begin;
  uint32_t length;
  std::string_view type() const { return {reinterpret_cast<const char*>(begin + 4), 4}; }
  const uint8_t* content() const { return begin + 8; }
  const uint8_t* end() const { return begin + 12 + length; }
  bool is_critical() const { return (begin[4] & 0x20) == 0; }
  bool has_right_sum() const {
    return ::crc32(0, begin + 4, static_cast<uInt>(4 + length)) == big_endian(begin + 8 + length);
  }
};

// The chunks up to and including a complete IEND; bytes after it are ignored.
std::vector<Chunk> chunks_of(const std::vector<uint8_t>& file, const std::string& name) {
  std::vector<Chunk> out;
  for (std::size_t at = 8; file.size() - at >= 12; at += 12 + out.back().length) {
    const Chunk chunk{&file[at], big_endian(&file[at])};
    if (chunk.length > file.size() - at - 12) break;
    out.push_back(chunk);
    if (chunk.type() == "IEND") return out;
  }
  fail(name, ": truncated PNG: the end chunk (IEND) is missing");
}

bool has_chunk(const std::vector<Chunk>& chunks, std::string_view type) {
  return std::any_of(chunks.begin(), chunks.end(), [&](const Chunk& c) { return c.type() == type; });
}

// Whether an ancillary chunk that follows `kept` affects pixel values and is valid: transparency (tRNS), and
// gamma (gAMA) unless a colour profile overrides it.
bool is_of_use(const Chunk& chunk, const std::vector<Chunk>& kept, const std::vector<Chunk>& all) {
  if (kept.empty() || kept[0].type() != "IHDR" || kept[0].length != 13 || !chunk.has_right_sum())
    return false;
  if (has_chunk(kept, chunk.type()) || has_chunk(kept, "IDAT")) return false;
  if (chunk.type() == "gAMA") {
    const bool sound = chunk.length == 4 && big_endian(chunk.content()) >= 16 &&
                       big_endian(chunk.content()) <= 625'000'000;  // libpng's limits
    return sound && !has_chunk(kept, "PLTE") && !has_chunk(all, "sRGB") && !has_chunk(all, "iCCP");
  }
  if (chunk.type() != "tRNS") return false;
  const int color = kept[0].content()[9];
  if (color != 3) return chunk.length == (color == 0 ? 2u : color == 2 ? 6u : 0u) && chunk.length != 0;
  const auto palette =
      std::find_if(kept.begin(), kept.end(), [](const Chunk& c) { return c.type() == "PLTE"; });
  return palette != kept.end() && chunk.length >= 1 && chunk.length <= palette->length / 3;
}

// The file without the ancillary chunks that do not matter here, so a broken timestamp or text does not make
// the image unreadable.
std::vector<uint8_t> essence_of(const std::vector<uint8_t>& file, const std::string& name) {
  const std::vector<Chunk> all = chunks_of(file, name);
  std::vector<Chunk> kept;
  for (const Chunk& chunk : all)
    if (chunk.is_critical() || is_of_use(chunk, kept, all)) kept.push_back(chunk);
  std::vector<uint8_t> out(file.begin(), file.begin() + 8);
  for (const Chunk& chunk : kept) out.insert(out.end(), chunk.begin, chunk.end());
  return out;
}

Image decode_png(const std::vector<uint8_t>& whole, const std::string& name, uint8_t background) {
  const std::vector<uint8_t> file = essence_of(whole, name);
  PngImage png;
  check(png_image_begin_read_from_memory(&png, file.data(), file.size()) != 0, name,
        ": broken PNG: ", png.message);
  check_size(png.width, png.height, name);
  const bool color = (png.format & PNG_FORMAT_FLAG_COLOR) != 0;
  png.format = color ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  Image image{static_cast<int>(png.width), static_cast<int>(png.height), color ? 3 : 1, {}};
  image.pixels.resize(byte_count(image));
  const png_color ground{background, background, background};
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // else 16-bit samples are treated as linear light and brightened
  check(png_image_finish_read(&png, &ground, image.pixels.data(), 0, nullptr) != 0, name,
        ": broken PNG: ", png.message);
  // The remaining chunks must be intact, but libpng only warns of a wrong checksum at the end of the data.
  check((png.warning_or_error & PNG_IMAGE_WARNING) == 0, name, ": broken PNG: ", png.message);
  return image;
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

Image decode_image(const std::vector<uint8_t>& file, const std::string& name, uint8_t background) {
  check(!file.empty(), name, ": the file is empty; expected a PNG image");
  if (file.size() >= 8 && png_sig_cmp(file.data(), 0, 8) == 0) return decode_png(file, name, background);
  const bool jpeg = file.size() >= 2 && file[0] == 0xFF && file[1] == 0xD8;
  fail(name, ": ", jpeg ? "a JPEG" : "another kind of file", "; expected a PNG image");
}

Image read_image(const std::string& path, uint8_t background) {
  data::GzInput input(path);
  check(input.file_bytes() <= static_cast<uint64_t>(kMostImageFileBytes), path, ": ", input.file_bytes(),
        " bytes; an image file may have at most ", kMostImageFileBytes, " bytes");
  check(!input.is_gzip(), path, ": a gzip file; expected a PNG image");
  std::vector<uint8_t> file(input.file_bytes());
  file.resize(input.read(file.data(), file.size()));
  return decode_image(file, path, background);
}

void write_png(const std::string& path, const Image& image) {
  check_size(image.width, image.height, path);
  check((image.channels == 1 || image.channels == 3) && image.pixels.size() == byte_count(image),
        "write_png: ", path, ": ", image.pixels.size(), " bytes for ", image.width, " x ", image.height,
        " x ", image.channels);
  PngImage png;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string file(bytes, '\0');
  check(png_image_write_to_memory(&png, file.data(), &bytes, 0, image.pixels.data(), 0, nullptr) != 0, path,
        ": ", png.message);
  file.resize(bytes);
  write_file_atomically(path, file);
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
  check_size(width, height, "resize");
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
            const std::size_t pixel = static_cast<std::size_t>(row.first + static_cast<int>(y)) *
                                          static_cast<std::size_t>(image.width) +
                                      static_cast<std::size_t>(column.first + static_cast<int>(x));
            sum +=
                row.shares[y] * column.shares[x] *
                image.pixels[pixel * static_cast<std::size_t>(image.channels) + static_cast<std::size_t>(c)];
          }
        out.pixels[at++] = static_cast<uint8_t>(std::clamp(std::lround(sum), 0L, 255L));
      }
  return out;
}

}  // namespace tandem::cli
