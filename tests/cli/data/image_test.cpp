// Images: PNG of every colour type, and broken files.
#include "tandem/cli/data/image.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tandem/autograd/ops.h"
#include "tandem/core/error.h"
#include "tandem/datasets/vision/image_file.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::cli;
using namespace tandem::test;
using doctest::Contains;

namespace {

Image decode(const std::string& text, uint8_t background = 0) {
  const TempFolder folder;
  write_file(folder / "a.png", text);
  return read_image(folder / "a.png", background);
}
// The error, without the folder.
std::string refusal(const std::string& text) {
  const std::string error = error_of([&] { decode(text); });
  return error.substr(std::min(error.find("a.png"), error.size()));
}

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string chunk(const std::string& type, const std::string& content) {
  const std::string body = type + content;
  const uLong sum = ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<uint32_t>(content.size())) + body + big_endian(static_cast<uint32_t>(sum));
}

std::string deflated(const std::string& content) {
  uLongf size = compressBound(content.size());
  std::string out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(content.data()), content.size());
  out.resize(size);
  return out;
}

const std::string kSignature("\x89PNG\r\n\x1a\n", 8);

struct Header {
  uint32_t width, height;
  char depth, color;
};
std::string header_chunk(Header h) {
  return chunk("IHDR", big_endian(h.width) + big_endian(h.height) + std::string{h.depth, h.color, 0, 0, 0});
}

// Rows start with their filter byte.
std::string png(Header header, const std::string& rows, const std::string& between = "") {
  return kSignature + header_chunk(header) + between + chunk("IDAT", deflated(rows)) + chunk("IEND", "");
}

const std::string kGray = png({3, 2, 8, 0}, std::string("\0\x00\x80\xff\0\x01\x02\x03", 8));

}  // namespace

TEST_CASE("PNG: gray pixels are read unchanged") {
  const Image image = decode(kGray);
  CHECK(image.width == 3);
  CHECK(image.height == 2);
  CHECK(image.channels == 1);
  CHECK(image.pixels == std::vector<uint8_t>{0, 0x80, 0xff, 1, 2, 3});
}

TEST_CASE("PNG: one bit, RGB, palette, gray with alpha, 16 bits") {
  CHECK(decode(png({9, 1, 1, 0}, std::string("\0\xa0\x80", 3))).pixels ==
        std::vector<uint8_t>{255, 0, 255, 0, 0, 0, 0, 0, 255});
  const Image rgb = decode(png({1, 1, 8, 2}, std::string("\0\x0a\x14\x1e", 4)));
  CHECK(rgb.channels == 3);
  CHECK(rgb.pixels == std::vector<uint8_t>{10, 20, 30});
  const Image palette = decode(png({2, 1, 8, 3}, std::string("\0\1\0", 3), chunk("PLTE", "abcdef")));
  CHECK(palette.pixels == std::vector<uint8_t>{'d', 'e', 'f', 'a', 'b', 'c'});
  // Transparent pixels are composited onto black.
  CHECK(decode(png({2, 1, 8, 4}, std::string("\0\xc8\xff\xc8\x00", 5))).pixels == std::vector<uint8_t>{200, 0});
  const Image deep = decode(png({2, 1, 16, 0}, std::string("\0\x00\x00\xff\xff", 5)));
  CHECK(deep.pixels == std::vector<uint8_t>{0, 255});
}

TEST_CASE("PNG: 16-bit samples are as bright as 8-bit ones") {
  CHECK(decode(png({3, 1, 16, 0}, std::string("\0\x40\x40\x80\x80\xc0\xc0", 7))).pixels ==
        std::vector<uint8_t>{0x40, 0x80, 0xc0});
  CHECK(decode(png({1, 1, 16, 2}, std::string("\0\x0a\x0a\x80\x80\x1e\x1e", 7))).pixels ==
        std::vector<uint8_t>{10, 128, 30});
}

TEST_CASE("PNG: transparent pixels show the background") {
  const std::string file = png({3, 1, 8, 4}, std::string("\0\xc8\xff\xc8\x00\x00\xff", 7));
  CHECK(decode(file, 255).pixels == std::vector<uint8_t>{200, 255, 0});
  CHECK(decode(file, 0).pixels == std::vector<uint8_t>{200, 0, 0});
}

TEST_CASE("PNG: a written image reads back unchanged") {
  TempFolder folder;
  const auto written = [&](int64_t channels, int64_t side, std::vector<uint8_t> pixels) {
    const Tensor image = from_blob(pixels.data(), {side, side, channels}, kByte);
    vision::write_png(image.permute({2, 0, 1}), folder / "a.png");
    return read_image(folder / "a.png").pixels == pixels;
  };
  std::vector<uint8_t> gray;
  for (int i = 0; i < 28 * 28; ++i) gray.push_back(static_cast<uint8_t>(i * 31));
  CHECK(written(1, 28, gray));
  CHECK(written(3, 2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST_CASE("PNG: valid and broken ancillary chunks, and bytes after the end") {
  const Header gray{3, 2, 8, 0};
  const std::string rows("\0\x00\x80\xff\0\x01\x02\x03", 8);
  const auto plain = decode(kGray).pixels;
  const std::string srgb = chunk("sRGB", std::string(1, 0)), gamma = chunk("gAMA", big_endian(45455));
  std::string bad_text = chunk("tEXt", std::string("a\0b", 3));
  bad_text.back() ^= 1;
  for (const std::string& between : {gamma + srgb,
                                     srgb + gamma,
                                     gamma + gamma,
                                     chunk("gAMA", big_endian(0)),
                                     chunk("gAMA", "x"),
                                     srgb + chunk("gAMA", big_endian(100000)),
                                     chunk("pHYs", big_endian(2835) + big_endian(2835) + "\1"),
                                     chunk("pHYs", ""),
                                     chunk("tIME", "1234567"),
                                     chunk("tIME", ""),
                                     bad_text,
                                     chunk("tEXt", ""),
                                     chunk("iCCP", "broken"),
                                     chunk("cHRM", "x"),
                                     chunk("tRNS", "x"),
                                     chunk("tRNS", ""),
                                     chunk("bKGD", "abc"),
                                     chunk("hIST", "ab"),
                                     chunk("zzZz", "anything"),
                                     chunk("iCCP", "broken") + srgb + srgb})
    CHECK_MESSAGE(decode(png(gray, rows, between)).pixels == plain, between);
  CHECK(decode(kGray + "more" + chunk("IDAT", "x")).pixels == plain);
  CHECK(decode(kSignature + header_chunk(gray) + chunk("IDAT", "") + chunk("IDAT", deflated(rows)) + bad_text +
               chunk("IEND", ""))
            .pixels == plain);
  // Linear light is brightened, as viewers do, unless the file also says sRGB.
  CHECK(decode(png(gray, rows, chunk("gAMA", big_endian(100000)))).pixels[1] > 0x80);
}

TEST_CASE("PNG: a transparent colour, and a palette with transparency") {
  CHECK(decode(png({2, 1, 8, 0}, std::string("\0\x07\x09", 3), chunk("tRNS", std::string("\0\7", 2)))).pixels ==
        std::vector<uint8_t>{0, 9});
  CHECK(decode(png({1, 1, 8, 2}, std::string("\0\1\2\3", 4), chunk("tRNS", std::string("\0\1\0\2\0\3", 6)))).pixels ==
        std::vector<uint8_t>{0, 0, 0});
  const std::string palette = chunk("PLTE", "abcdef");
  const std::string row("\0\x40", 2);  // two bits per pixel: 1, 0
  CHECK(decode(png({2, 1, 2, 3}, row, palette + chunk("tRNS", std::string("\xff\0", 2)))).pixels ==
        std::vector<uint8_t>{0, 0, 0, 'a', 'b', 'c'});
  for (const std::string& between : {palette + chunk("tRNS", "\1\1\1"), chunk("tRNS", "\1") + palette})
    CHECK(decode(png({2, 1, 2, 3}, row, between)).pixels == std::vector<uint8_t>{'d', 'e', 'f', 'a', 'b', 'c'});
  CHECK(decode(png({2, 1, 4, 0}, std::string("\0\x5a", 2))).pixels == std::vector<uint8_t>{0x55, 0xaa});
}

TEST_CASE("PNG: interlaced") {
  // 2 x 2: pass 1 has pixel (0, 0), pass 6 pixel (1, 0), pass 7 the second row.
  std::string file = png({2, 2, 8, 0}, std::string("\0\1\0\2\0\3\4", 7));
  file.replace(8, 25, chunk("IHDR", big_endian(2) + big_endian(2) + std::string{8, 0, 0, 0, 1}));
  CHECK(decode(file).pixels == std::vector<uint8_t>{1, 2, 3, 4});
}

TEST_CASE("PNG: critical damage is refused") {
  const Header gray{3, 2, 8, 0};
  const std::string rows("\0\x00\x80\xff\0\x01\x02\x03", 8), data = deflated(rows);
  const auto file = [&](const std::string& middle) {
    return kSignature + header_chunk(gray) + middle + chunk("IEND", "");
  };
  std::string bad = chunk("IDAT", data);
  bad.back() ^= 1;
  CHECK(refusal(file(bad)) != "");
  CHECK(refusal(file(chunk("IDAT", data.substr(0, data.size() - 1)))) != "");
  CHECK(refusal(file(chunk("IDAT", data.substr(0, 5)))) != "");
  CHECK(refusal(file("")) != "");
  CHECK(refusal(file(chunk("iDAT", data))) != "");
  CHECK(refusal(file(chunk("ABCD", "") + chunk("IDAT", data))) != "");
  CHECK(refusal(png({2, 1, 8, 3}, std::string("\0\1\0", 3))) != "");  // no palette
  std::string end = file(chunk("IDAT", data));
  end.back() ^= 1;
  CHECK(decode(end).pixels.size() == 6);  // IEND has no content
}

TEST_CASE("PNG: a file truncated anywhere is refused") {
  for (std::size_t cut = 0; cut < kGray.size(); ++cut)
    CHECK_MESSAGE(refusal(kGray.substr(0, cut)) != "", "cut at ", cut);
}

TEST_CASE("PNG: a wrong chunk checksum, wrong pixel data, a huge size") {
  std::string bad = kGray;
  bad[30] ^= 1;  // in the header's checksum
  CHECK(refusal(bad).starts_with("a.png: broken PNG: IHDR: CRC error"));
  CHECK(refusal(kSignature + header_chunk({3, 2, 8, 0}) + chunk("IDAT", "nonsense") + chunk("IEND", "")) != "");
  CHECK(refusal(png({3, 2, 8, 0}, std::string("\0\x00\x80", 3))) != "");
  CHECK(refusal(png({20000, 2, 8, 0}, "")).find("20000 x 2 pixels; expected 1 to 16384 per side") != std::string::npos);
  CHECK(refusal(png({16000, 16000, 8, 0}, "")).find("at most 67108864 in total") != std::string::npos);
  CHECK(refusal(png({0, 2, 8, 0}, "")).starts_with("a.png: broken PNG"));
}

TEST_CASE("JPEG: gray and RGB") {
  if (!vision::has_jpeg()) {
    MESSAGE("skipped: built without libjpeg");
    return;
  }
  const Image gray = decode(vision::encode_jpeg(full({1, 3, 5}, 100, kByte)));
  CHECK(gray.width == 5);
  CHECK(gray.height == 3);
  CHECK(gray.channels == 1);
  CHECK(gray.pixels == std::vector<uint8_t>(15, 100));
  const Image rgb = decode(vision::encode_jpeg(full({3, 3, 5}, 100, kByte)));
  CHECK(rgb.channels == 3);
  CHECK(rgb.pixels == std::vector<uint8_t>(45, 100));
}

TEST_CASE("other files are refused with their kind") {
  TempFolder folder;
  CHECK(refusal("") == "a.png: the file is empty; expected a PNG or JPEG image");
  CHECK(refusal("\xff\xd8\xff\xe0").find("JPEG") != std::string::npos);
  for (const char* text : {"P5 1 1 255\na", "P3 1 1 15 15 0 3", "GIF89a", "x"})
    CHECK(refusal(text) == "a.png: another kind of file; expected a PNG or JPEG image");
  CHECK_THROWS_WITH_AS(read_image(folder / "none.png"), Contains("No such file"), Error);
  CHECK_THROWS_WITH_AS(read_image(folder.path()), Contains("not a regular file"), Error);
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);  // it has no writer
  CHECK_THROWS_WITH_AS(read_image(folder / "fifo"), Contains("not a regular file"), Error);
  write_file(folder / "huge.png", "");
  REQUIRE(::truncate((folder / "huge.png").c_str(), int64_t{1} << 40) == 0);
  CHECK_THROWS_WITH_AS(read_image(folder / "huge.png"), Contains("may have at most"), Error);
}

TEST_CASE("gray is luma; a resized pixel is the mean of the area it covers") {
  CHECK(to_gray({1, 1, 3, {255, 0, 0}}).pixels[0] == 76);
  CHECK(to_gray({1, 1, 3, {9, 9, 9}}).pixels[0] == 9);
  const Image image{4, 2, 1, {0, 10, 20, 30, 40, 50, 60, 70}};
  CHECK(resize(image, 2, 1).pixels == std::vector<uint8_t>{25, 45});
  CHECK(resize(image, 4, 2).pixels == image.pixels);
  CHECK(resize({3, 1, 1, {0, 90, 180}}, 2, 1).pixels == std::vector<uint8_t>{30, 150});
  CHECK(resize({2, 1, 1, {0, 90}}, 4, 1).pixels == std::vector<uint8_t>{0, 0, 90, 90});
  CHECK(resize({2, 1, 3, {0, 1, 2, 10, 11, 12}}, 1, 1).pixels == std::vector<uint8_t>{5, 6, 7});
  const Image flat{300, 200, 1, std::vector<uint8_t>(60000, 77)};
  CHECK(resize(flat, 28, 28).pixels == std::vector<uint8_t>(28 * 28, 77));
}
