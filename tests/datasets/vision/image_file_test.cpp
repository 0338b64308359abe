// Image files: PNG and JPEG to tensors and back, orientation, broken files.
#include "tandem/datasets/vision/image_file.h"

#include <doctest/doctest.h>

#include <array>

#include "tandem/autograd/ops.h"
#include "tandem/nn/files/crc32.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::test;
using namespace tandem::vision;
using doctest::Contains;

namespace {

const std::string kFolder = TANDEM_VISION_FILES;

// An image [channels, height, width] with a different value at each place.
Tensor ramp(int64_t channels, int64_t height, int64_t width) {
  return (arange(channels * height * width, kLong) * 7 % 256).to(kByte).view({channels, height, width});
}

// A smooth image, which JPEG changes little.
Tensor smooth(int64_t channels, int64_t height, int64_t width) {
  const Tensor y = arange(height, kFloat).view({1, height, 1}), x = arange(width, kFloat).view({1, 1, width});
  const Tensor c = arange(channels, kFloat).view({channels, 1, 1});
  return (y * 2 + x * 3 + c * 20 + 30).clamp(0, 255).to(kByte);
}

int64_t largest_difference(const Tensor& a, const Tensor& b) {
  return (a.to(kInt) - b.to(kInt)).abs().max().item<int64_t>();
}

std::string decoding_error(const std::string& file, const DecodeOptions& options = {}) {
  return error_of([&] { decode_image(file, "a.jpg", options); });
}

// A block of EXIF data with the orientation in a JPEG's APP1 segment.
std::string exif(bool big_endian, char orientation) {
  const std::string little("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 18);
  const std::string big("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01", 18);
  const std::string value =
      big_endian ? std::string{'\0', orientation, '\0', '\0'} : std::string{orientation, '\0', '\0', '\0'};
  return (big_endian ? big : little) + value + std::string(4, '\0');
}
std::string with_exif(const std::string& jpeg, const std::string& tiff) {
  const std::string body = std::string("Exif\0\0", 6) + tiff;
  const auto length = static_cast<char>(body.size() + 2);
  return jpeg.substr(0, 2) + std::string{'\xff', '\xe1', '\0', length} + body + jpeg.substr(2);
}

}  // namespace

TEST_CASE("PNG: colour and grey images of any strides read back unchanged") {
  TempFolder folder;
  for (const Tensor& image : {ramp(3, 5, 4), ramp(1, 2, 9), ramp(5, 4, 3).permute({2, 0, 1}), ramp(1, 1, 1)}) {
    write_png(image, folder / "a.png");
    const Tensor back = read_image(folder / "a.png", {.mode = ImageReadMode::kUnchanged});
    CHECK(back.is_contiguous());
    CHECK(back.dtype() == kByte);
    CHECK(back.equal(image.contiguous()));
  }
  CHECK(folder.entries() == 1);
}

TEST_CASE("grey becomes RGB, and RGB becomes grey by luma") {
  const std::string grey = encode_png(ramp(1, 2, 3));
  CHECK(decode_image(grey, "a").equal(ramp(1, 2, 3).expand({3, 2, 3})));
  const Tensor color = tensor({255, 0, 0, 0, 255, 0, 0, 0, 255}, kByte).view({3, 1, 3});
  CHECK(decode_image(encode_png(color), "a", {.mode = ImageReadMode::kGray})
            .equal(tensor({76, 150, 29}, kByte).view({1, 1, 3})));
}

namespace {

std::string big_endian(uint32_t n) {
  return {static_cast<char>(n >> 24), static_cast<char>(n >> 16), static_cast<char>(n >> 8), static_cast<char>(n)};
}
// A PNG with a chunk more, after the header or, if there is one, after the palette.
std::string with_chunk(const std::string& png, const std::string& type, const std::string& content, uint32_t flaw = 0) {
  const std::string body = type + content;
  const std::string chunk = big_endian(static_cast<uint32_t>(content.size())) + body +
                            big_endian(serialize::crc32(body.data(), body.size()) ^ flaw);
  return png.substr(0, 33) + chunk + png.substr(33);
}

// Without a chunk of a type and a length.
std::string without(std::string png, const std::string& type, std::size_t length) {
  const std::size_t at = png.find(type);
  return at == std::string::npos ? png : png.erase(at - 4, length + 12);
}

}  // namespace

TEST_CASE("PNG: the orientation of EXIF data, of a sound chunk and within its directory") {
  const Tensor image = ramp(3, 4, 6);
  const std::string png = encode_png(image), turned = with_chunk(png, "eXIf", exif(true, 6));
  CHECK(decode_image(turned, "a").equal(image.flip({1}).transpose(1, 2).contiguous()));
  CHECK(decode_image(turned, "a", {.apply_exif_orientation = false}).equal(image));
  CHECK(decode_image(with_chunk(png, "eXIf", exif(true, 6), 1), "a").equal(image));
  CHECK(decode_image(with_chunk(turned, "tEXt", "a"), "a").equal(decode_image(turned, "a")));
  std::string longer = exif(true, 6);
  longer[9] = 0;  // the directory has no entry, but is followed by one
  CHECK(decode_image(with_chunk(png, "eXIf", longer), "a").equal(image));
}

TEST_CASE("PNG: transparency and gamma are shown on a background, of sound chunks only") {
  const Tensor image = full({3, 1, 2}, 100, kByte);
  const std::string png = encode_png(image), clear = std::string("\0\x64\0\x64\0\x64", 6);
  const DecodeOptions on{.background = uint8_t{7}};
  const auto shown = [&](const std::string& file) { return decode_image(file, "a", on)[0][0][0].item<int64_t>(); };
  CHECK(shown(png) == 100);
  CHECK(shown(with_chunk(png, "tRNS", clear)) == 7);
  CHECK(decode_image(with_chunk(png, "tRNS", clear), "a").equal(image));
  CHECK(shown(with_chunk(png, "tRNS", clear, 1)) == 100);
  CHECK(shown(with_chunk(png, "tRNS", clear.substr(2))) == 100);
  CHECK(shown(with_chunk(png, "tRNS", "")) == 100);
  const std::string gray = encode_png(image.narrow(0, 0, 1));
  CHECK(shown(with_chunk(gray, "tRNS", clear.substr(4))) == 7);
  CHECK(shown(with_chunk(gray, "tRNS", clear)) == 100);
  const std::string plain = without(without(png, "sRGB", 1), "gAMA", 4), linear = big_endian(100000);
  CHECK(shown(plain) == 100);
  CHECK(shown(with_chunk(plain, "gAMA", linear)) > 120);
  CHECK(shown(with_chunk(plain, "gAMA", linear, 1)) == 100);
  CHECK(shown(with_chunk(plain, "gAMA", big_endian(15))) == 100);
  CHECK(shown(with_chunk(with_chunk(plain, "gAMA", linear), "sRGB", std::string(1, '\0'))) == 100);
}

TEST_CASE("tensors that are no images, and qualities, are refused") {
  CHECK_THROWS_WITH_AS(encode_png(zeros({3, 2, 2})), Contains("expected a uint8 image [1, H, W] or [3, H, W]"), Error);
  CHECK_THROWS_WITH_AS(encode_png(ramp(2, 2, 2)), Contains("encode_png"), Error);
  CHECK_THROWS_WITH_AS(encode_png(ramp(3, 0, 2)), Contains("2 x 0 pixels"), Error);
  CHECK_THROWS_WITH_AS(encode_jpeg(ramp(3, 2, 2), 0), Contains("quality 0; expected 1 to 100"), Error);
  CHECK_THROWS_AS(encode_jpeg(ramp(3, 2, 2), 101), Error);
  if (!has_jpeg()) return;
  CHECK_THROWS_WITH_AS(encode_jpeg(full({1, 1, 65501}, 0, kByte)), Contains("expected 1 to 65500 per side"), Error);
  for (const int quality : {1, 100}) CHECK(decode_image(encode_jpeg(ramp(3, 2, 2), quality), "a").size(1) == 2);
}

TEST_CASE("files over the limits are refused before they are decoded") {
  const std::string file = encode_png(ramp(3, 20, 30));
  CHECK(decoding_error(file, {.max_pixels_a_side = 29}) == "a.jpg: 30 x 20 pixels; expected 1 to 29 per side");
  CHECK(decoding_error(file, {.max_pixels = 599}) == "a.jpg: 30 x 20 pixels; expected at most 599 in total");
  CHECK(decoding_error(file, {.max_pixels = 600}) == "");
  TempFolder folder;
  write_file(folder / "a.png", file);
  CHECK_THROWS_WITH_AS(read_image(folder / "a.png", {.max_file_bytes = file.size() - 1}), Contains("may have at most"),
                       Error);
  CHECK_THROWS_WITH_AS(read_image(folder / "none.png"), Contains("none.png"), Error);
  write_file(folder / "a.png", "text");
  CHECK_THROWS_WITH_AS(read_image(folder / "a.png"), Contains("a.png: another kind of file; expected a PNG or JPEG"),
                       Error);
}

TEST_CASE("JPEG") {
  if (!has_jpeg()) {
    CHECK(decoding_error("\xff\xd8\xff").find("this build has no libjpeg") != std::string::npos);
    MESSAGE("skipped: built without libjpeg");
    return;
  }
  SUBCASE("a written image reads back almost unchanged, and better with a higher quality") {
    for (const int64_t channels : {1, 3}) {
      const Tensor image = smooth(channels, 31, 45);
      const std::string fine = encode_jpeg(image, 95), coarse = encode_jpeg(image, 20);
      CHECK(coarse.size() < fine.size());
      CHECK(largest_difference(decode_image(fine, "a", {.mode = ImageReadMode::kUnchanged}), image) <= 6);
      CHECK(largest_difference(decode_image(coarse, "a"), image.expand({3, 31, 45})) <= 40);
    }
    TempFolder folder;
    write_jpeg(smooth(3, 8, 8), folder / "a.jpg");
    CHECK(read_image(folder / "a.jpg").sizes() == IntArrayRef({3, 8, 8}));
  }
  SUBCASE("the orientation of EXIF data in either byte order") {
    const std::string file = encode_jpeg(smooth(3, 16, 24), 95);
    const Tensor plain = decode_image(file, "a");
    const std::array<Tensor, 9> upright = {plain,
                                           plain,
                                           plain.flip({2}),
                                           plain.flip({1, 2}),
                                           plain.flip({1}),
                                           plain.transpose(1, 2),
                                           plain.flip({1}).transpose(1, 2),
                                           plain.flip({1, 2}).transpose(1, 2),
                                           plain.flip({2}).transpose(1, 2)};
    for (char k = 0; k < 12; ++k)
      for (const bool big : {false, true}) {
        const std::string turned = with_exif(file, exif(big, k));
        CHECK_MESSAGE(decode_image(turned, "a").equal(upright[k <= 8 ? static_cast<std::size_t>(k) : 0].contiguous()),
                      int{k});
        CHECK(decode_image(turned, "a", {.apply_exif_orientation = false}).equal(plain));
      }
    const std::string whole = exif(false, 6);
    for (std::size_t cut = 0; cut < 26; ++cut)
      CHECK(decode_image(with_exif(file, whole.substr(0, cut)), "a").equal(plain) == (cut < 20));
    std::string far = whole;
    far.replace(4, 4, "\xf0\xff\xff\xff");
    CHECK(decode_image(with_exif(file, far), "a").equal(plain));
  }
  SUBCASE("CMYK and progressive files of another program") {
    // Written by Pillow from a gradient; the corners are what Pillow reads.
    const Tensor cmyk = read_image(kFolder + "/cmyk.jpg");
    CHECK(cmyk.sizes() == IntArrayRef({3, 16, 24}));
    const Tensor expected = read_image(kFolder + "/cmyk_as_rgb.png");
    CHECK(cmyk.equal(expected));
    CHECK(read_image(kFolder + "/progressive.jpg").equal(read_image(kFolder + "/progressive_as_rgb.png")));
  }
  SUBCASE("a file truncated anywhere is refused, bytes after the end are ignored") {
    const std::string file = encode_jpeg(smooth(3, 20, 20));
    for (std::size_t cut = 0; cut < file.size(); ++cut) CHECK_MESSAGE(decoding_error(file.substr(0, cut)) != "", cut);
    CHECK(decoding_error(file.substr(0, file.size() - 40)) == "a.jpg: broken JPEG: Premature end of JPEG file");
    CHECK(decoding_error(file + "more") == "");
    const std::string progressive = read_file(kFolder + "/progressive.jpg");
    for (std::size_t cut = 0; cut < progressive.size(); ++cut)
      CHECK_MESSAGE(decoding_error(progressive.substr(0, cut)) != "", cut);
  }
  SUBCASE("damaged markers and data") {
    const std::string file = encode_jpeg(smooth(3, 20, 20));
    const auto changed = [&](std::size_t at, char value) {
      std::string out = file;
      out[at] = value;
      return decoding_error(out);
    };
    const std::size_t frame = file.find("\xff\xc0"), table = file.find("\xff\xc4");
    REQUIRE(frame != std::string::npos);
    CHECK(changed(frame + 4, 16).starts_with("a.jpg: broken JPEG: Unsupported JPEG data precision 16"));
    CHECK(changed(frame + 5, '\xff').find("65300 pixels; expected") == std::string::npos);
    CHECK(changed(frame + 7, '\xff').find("broken JPEG: ") != std::string::npos);  // wider than its data
    CHECK(changed(frame + 1, '\xc3').starts_with("a.jpg: broken JPEG: Unsupported JPEG process"));
    CHECK(changed(table + 5, '\xff').starts_with("a.jpg: broken JPEG: Bogus Huffman table"));
    CHECK(decoding_error(std::string("\xff\xd8\xff\xd9", 4)).find("broken JPEG") != std::string::npos);
    for (std::size_t at = 2; at < file.size(); ++at) changed(at, static_cast<char>(file[at] ^ 0x55));  // no crash
  }
  SUBCASE("a file of very many scans is refused") {
    // One sequential scan for each channel, the last one repeated.
    const std::string file = read_file(kFolder + "/three_scans.jpg");
    const std::size_t scan = file.rfind("\xff\xda");
    const std::string last = file.substr(scan, file.size() - 2 - scan);
    std::string many = file.substr(0, file.size() - 2);
    for (int i = 3; i < 500; ++i) many += last;
    CHECK(decoding_error(many + "\xff\xd9") == "");
    CHECK(decoding_error(many + last + "\xff\xd9") == "a.jpg: broken JPEG: more than 500 scans");
  }
}
