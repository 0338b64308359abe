// JPEG with libjpeg, which reports an error by calling a function that must not return. Here that function jumps back
// into one of the functions below that call setjmp. These have only variables without destructors, and keep what they
// change in the Reader or Writer, so a jump skips nothing.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <new>
#include <string>
#include <utility>

// These need the headers above.
#include <jerror.h>
#include <jpeglib.h>

#include "tandem/core/error.h"
#include "tandem/datasets/vision/pixels.h"

namespace tandem::vision {

bool has_jpeg() { return true; }

namespace detail {
namespace {

constexpr int kMaxScans = 500;  // each scan of a progressive file costs time for the whole image

struct Errors : jpeg_error_mgr {
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void on_error(j_common_ptr codec) {
  auto* errors = static_cast<Errors*>(codec->err);
  errors->format_message(codec, errors->message);
  std::longjmp(errors->jump, 1);
}

// A warning means that pixels are lost, except those that cameras and editors are known to cause.
void on_message(j_common_ptr codec, int level) {
  if (level >= 0) return;
  const int code = codec->err->msg_code;
  if (code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR) return;
  on_error(codec);
}

void on_progress(j_common_ptr codec) {
  if (reinterpret_cast<j_decompress_ptr>(codec)->input_scan_number <= kMaxScans) return;
  auto* errors = static_cast<Errors*>(codec->err);
  std::snprintf(errors->message, sizeof errors->message, "more than %d scans", kMaxScans);
  std::longjmp(errors->jump, 1);
}

void set_up(Errors& errors) {
  jpeg_std_error(&errors);
  errors.error_exit = on_error;
  errors.emit_message = on_message;
  errors.message[0] = '\0';
}

void check_done(bool good, const Errors& errors, const std::string& name, const char* what) {
  if (!good && errors.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  check(good, name, what, errors.message);
}

struct Reader {
  jpeg_decompress_struct codec{};
  Errors errors{};
  jpeg_progress_mgr progress{};
  ~Reader() { jpeg_destroy_decompress(&codec); }
};

bool read_header(Reader& r, std::string_view file) {
  set_up(r.errors);
  r.codec.err = &r.errors;
  if (setjmp(r.errors.jump)) return false;
  jpeg_create_decompress(&r.codec);
  r.progress.progress_monitor = on_progress;
  r.codec.progress = &r.progress;
  jpeg_mem_src(&r.codec, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_save_markers(&r.codec, JPEG_APP0 + 1, 0xFFFF);
  jpeg_read_header(&r.codec, TRUE);
  return true;
}

bool read_pixels(Reader& r, uint8_t* to, std::size_t row_bytes) {
  if (setjmp(r.errors.jump)) return false;
  jpeg_start_decompress(&r.codec);
  while (r.codec.output_scanline < r.codec.output_height) {
    JSAMPROW row = to + r.codec.output_scanline * row_bytes;
    jpeg_read_scanlines(&r.codec, &row, 1);
  }
  jpeg_finish_decompress(&r.codec);
  return true;
}

int orientation_of(const Reader& r) {
  using std::string_view_literals::operator""sv;
  for (const jpeg_marker_struct* m = r.codec.marker_list; m != nullptr; m = m->next) {
    const std::string_view data(reinterpret_cast<const char*>(m->data), m->data_length);
    if (data.starts_with("Exif\0\0"sv)) return exif_orientation(data.substr(6));
  }
  return 1;
}

// a * b / 255, rounded.
uint8_t scaled(uint32_t a, uint32_t b) { return static_cast<uint8_t>((2 * a * b + 255) / 510); }

// In place. As is usual, the file has the inverted values: 255 is no ink.
void cmyk_to_rgb(Pixels& pixels) {
  const std::size_t count = pixels.bytes.size() / 4;
  for (std::size_t i = 0; i < count; ++i) {
    const uint8_t k = pixels.bytes[4 * i + 3];
    for (std::size_t c = 0; c < 3; ++c) pixels.bytes[3 * i + c] = scaled(pixels.bytes[4 * i + c], k);
  }
  pixels.bytes.resize(3 * count);
}

// Where libjpeg writes. Its own memory would be lost after an error.
struct Destination : jpeg_destination_mgr {
  std::string file;
};

// For what follows the first `used` bytes.
void make_room(j_compress_ptr codec, std::size_t used) {
  auto& to = *static_cast<Destination*>(codec->dest);
  bool made = true;
  try {
    to.file.resize(std::max<std::size_t>(512, 2 * used));
  } catch (const std::bad_alloc&) {
    made = false;
  }
  // Outside of the handler, which a jump must not leave.
  if (!made) ERREXIT1(codec, JERR_OUT_OF_MEMORY, 0);
  to.next_output_byte = reinterpret_cast<JOCTET*>(to.file.data()) + used;
  to.free_in_buffer = to.file.size() - used;
}

void begin_file(j_compress_ptr codec) { make_room(codec, 0); }

boolean continue_file(j_compress_ptr codec) {
  make_room(codec, static_cast<Destination*>(codec->dest)->file.size());
  return TRUE;
}

void end_file(j_compress_ptr codec) {
  auto& to = *static_cast<Destination*>(codec->dest);
  to.file.resize(to.file.size() - to.free_in_buffer);
}

struct Writer {
  jpeg_compress_struct codec{};
  Errors errors{};
  Destination to{};
  ~Writer() { jpeg_destroy_compress(&codec); }
};

bool write_pixels(Writer& w, const Pixels& pixels, int quality) {
  set_up(w.errors);
  w.codec.err = &w.errors;
  if (setjmp(w.errors.jump)) return false;
  jpeg_create_compress(&w.codec);
  w.to.init_destination = begin_file;
  w.to.empty_output_buffer = continue_file;
  w.to.term_destination = end_file;
  w.codec.dest = &w.to;
  w.codec.image_width = static_cast<JDIMENSION>(pixels.width);
  w.codec.image_height = static_cast<JDIMENSION>(pixels.height);
  w.codec.input_components = pixels.channels;
  w.codec.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&w.codec);
  jpeg_set_quality(&w.codec, quality, TRUE);
  jpeg_start_compress(&w.codec, TRUE);
  const std::size_t row_bytes = std::size_t{w.codec.image_width} * static_cast<std::size_t>(pixels.channels);
  while (w.codec.next_scanline < w.codec.image_height) {
    auto* row = const_cast<JSAMPROW>(pixels.bytes.data() + w.codec.next_scanline * row_bytes);
    jpeg_write_scanlines(&w.codec, &row, 1);
  }
  jpeg_finish_compress(&w.codec);
  return true;
}

}  // namespace

Pixels decode_jpeg(std::string_view file, const std::string& name, const DecodeOptions& options) {
  Reader r;
  check_done(read_header(r, file), r.errors, name, ": broken JPEG: ");
  check_size(r.codec.image_width, r.codec.image_height, name, options);
  const J_COLOR_SPACE stored = r.codec.jpeg_color_space;
  const bool cmyk = stored == JCS_CMYK || stored == JCS_YCCK;
  r.codec.out_color_space = cmyk ? JCS_CMYK : stored == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  const std::size_t channels = cmyk ? 4 : stored == JCS_GRAYSCALE ? 1 : 3;
  const std::size_t row_bytes = r.codec.image_width * channels;
  Pixels out{
      static_cast<int>(r.codec.image_width), static_cast<int>(r.codec.image_height), channels == 1 ? 1 : 3, {}, 1};
  // Before the pixels are read: the end of the image frees the markers.
  if (options.apply_exif_orientation) out.orientation = orientation_of(r);
  out.bytes.resize(row_bytes * r.codec.image_height);
  check_done(read_pixels(r, out.bytes.data(), row_bytes), r.errors, name, ": broken JPEG: ");
  if (cmyk) cmyk_to_rgb(out);
  return out;
}

std::string encode_jpeg(const Pixels& pixels, int quality) {
  Writer w;
  check_done(write_pixels(w, pixels, quality), w.errors, "encode_jpeg: ", "");
  return std::move(w.to.file);
}

}  // namespace detail
}  // namespace tandem::vision
