// PNG with libpng's simplified interface.
#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <new>

#include "tandem/core/error.h"
#include "tandem/datasets/vision/pixels.h"

namespace tandem::vision::detail {
namespace {

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
  std::string_view bytes() const { return {reinterpret_cast<const char*>(begin), std::size_t{12} + length}; }
  bool is_critical() const { return (begin[4] & 0x20) == 0; }
  bool has_right_sum() const {
    return ::crc32_z(0, begin + 4, std::size_t{4} + length) == big_endian(begin + 8 + length);
  }
};

// The chunks up to and including a complete IEND; bytes after it are ignored.
std::vector<Chunk> chunks_of(std::string_view file, const std::string& name) {
  std::vector<Chunk> out;
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  for (std::size_t at = 8; file.size() - at >= 12; at += out.back().bytes().size()) {
    const Chunk chunk{bytes + at, big_endian(bytes + at)};
    if (chunk.length > file.size() - at - 12) break;
    out.push_back(chunk);
    if (chunk.type() == "IEND") return out;
  }
  fail(name, ": truncated PNG: the end chunk (IEND) is missing");
}

bool has_chunk(const std::vector<Chunk>& chunks, std::string_view type) {
  return std::any_of(chunks.begin(), chunks.end(), [&](const Chunk& c) { return c.type() == type; });
}

// Whether an ancillary chunk that follows `kept` affects what a viewer shows and is valid: transparency (tRNS),
// and gamma (gAMA) unless a colour profile overrides it.
bool is_of_use(const Chunk& chunk, const std::vector<Chunk>& kept, const std::vector<Chunk>& all) {
  if (kept.empty() || kept[0].type() != "IHDR" || kept[0].length != 13 || !chunk.has_right_sum()) return false;
  if (has_chunk(kept, chunk.type()) || has_chunk(kept, "IDAT")) return false;
  if (chunk.type() == "gAMA") {
    const bool sound = chunk.length == 4 && big_endian(chunk.content()) >= 16 &&
                       big_endian(chunk.content()) <= 625'000'000;  // libpng's limits
    return sound && !has_chunk(kept, "PLTE") && !has_chunk(all, "sRGB") && !has_chunk(all, "iCCP");
  }
  if (chunk.type() != "tRNS") return false;
  const int color = kept[0].content()[9];
  if (color != 3) return chunk.length == (color == 0 ? 2u : color == 2 ? 6u : 0u) && chunk.length != 0;
  const auto palette = std::find_if(kept.begin(), kept.end(), [](const Chunk& c) { return c.type() == "PLTE"; });
  return palette != kept.end() && chunk.length >= 1 && chunk.length <= palette->length / 3;
}

// The file without the ancillary chunks that do not matter here, so a broken timestamp or text does not make
// the image unreadable.
std::string essence_of(std::string_view file, const std::vector<Chunk>& all, bool viewed) {
  std::vector<Chunk> kept;
  for (const Chunk& chunk : all)
    if (chunk.is_critical() || (viewed && is_of_use(chunk, kept, all))) kept.push_back(chunk);
  std::string out(file.substr(0, 8));
  for (const Chunk& chunk : kept) out += chunk.bytes();
  return out;
}

int orientation_of(const std::vector<Chunk>& chunks) {
  for (const Chunk& c : chunks)
    if (c.type() == "eXIf" && c.has_right_sum()) return exif_orientation(c.bytes().substr(8, c.length));
  return 1;
}

void drop_alpha(Pixels& pixels) {
  const auto channels = static_cast<std::size_t>(pixels.channels);
  const std::size_t count = pixels.bytes.size() / (channels + 1);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < channels; ++c) pixels.bytes[i * channels + c] = pixels.bytes[i * (channels + 1) + c];
  pixels.bytes.resize(count * channels);
}

// libpng has no code for its errors, but all its messages of missing memory say so.
void check_memory(bool good, const png_image& png) {
  if (!good && std::string_view(png.message).find("memory") != std::string_view::npos) throw std::bad_alloc();
}

void check_read(bool good, const png_image& png, const std::string& name) {
  check_memory(good, png);
  check(good, name, ": broken PNG: ", png.message);
}

}  // namespace

Pixels decode_png(std::string_view whole, const std::string& name, const DecodeOptions& options) {
  const std::vector<Chunk> chunks = chunks_of(whole, name);
  const std::string file = essence_of(whole, chunks, options.background.has_value());
  PngImage png;
  check_read(png_image_begin_read_from_memory(&png, file.data(), file.size()) != 0, png, name);
  check_size(png.width, png.height, name, options);
  const bool color = (png.format & PNG_FORMAT_FLAG_COLOR) != 0;
  const bool alpha = (png.format & PNG_FORMAT_FLAG_ALPHA) != 0 && !options.background;
  png.format = (color ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY) | (alpha ? PNG_FORMAT_FLAG_ALPHA : 0u);
  Pixels out{static_cast<int>(png.width), static_cast<int>(png.height), color ? 3 : 1, {}, 1};
  out.bytes.resize(std::size_t{png.width} * png.height * PNG_IMAGE_PIXEL_CHANNELS(png.format));
  const uint8_t shade = options.background.value_or(0);
  const png_color ground{shade, shade, shade};
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // else 16-bit samples are treated as linear light and brightened
  check_read(png_image_finish_read(&png, &ground, out.bytes.data(), 0, nullptr) != 0, png, name);
  // The remaining chunks must be intact, but libpng only warns of a wrong checksum at the end of the data.
  check_read((png.warning_or_error & PNG_IMAGE_WARNING) == 0, png, name);
  if (alpha) drop_alpha(out);
  if (options.apply_exif_orientation) out.orientation = orientation_of(chunks);
  return out;
}

std::string encode_png(const Pixels& pixels) {
  PngImage png;
  png.width = static_cast<png_uint_32>(pixels.width);
  png.height = static_cast<png_uint_32>(pixels.height);
  png.format = pixels.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string file(bytes, '\0');
  const bool written = png_image_write_to_memory(&png, file.data(), &bytes, 0, pixels.bytes.data(), 0, nullptr) != 0;
  check_memory(written, png);
  check(written, "encode_png: ", png.message);
  file.resize(bytes);
  return file;
}

}  // namespace tandem::vision::detail
