// IDX: round trips of every type, plain and gzipped; broken files are refused with the reason.
#include "tandem/datasets/idx.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/datasets/gz_input.h"
#include "tandem/tests/datasets/gzip_bytes.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::data;
using namespace tandem::test;
using doctest::Contains;

namespace {

struct Read {
  IdxHeader header;
  std::vector<uint8_t> bytes;
  int allocations = 0;
};

Read read_bytes(const std::string& file) {
  Read out;
  GzInput input(file.data(), file.size(), "a.idx");
  out.header = read_idx(input, [&](const IdxHeader& header) -> void* {
    ++out.allocations;
    out.bytes.resize(header.bytes);
    return out.bytes.data();
  });
  return out;
}

std::string refusal(const std::string& file) {
  bool allocated = false;
  const std::string text = error_of([&] {
    std::vector<uint8_t> bytes;
    GzInput input(file.data(), file.size(), "a.idx");
    read_idx(input, [&](const IdxHeader& header) -> void* {
      allocated = true;
      bytes.resize(header.bytes);
      return bytes.data();
    });
  });
  return (allocated ? "allocated, " : "") + text;
}

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string idx_bytes(uint8_t type, const std::vector<uint32_t>& sizes, const std::string& elements) {
  std::string out{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (uint32_t size : sizes) out += big_endian(size);
  return out + elements;
}

const std::string kSix("\1\2\3\4\5\6");

}  // namespace

TEST_CASE("a hand-made file can be read plain, gzipped and as two gzip members") {
  const std::string plain = idx_bytes(0x08, {2, 3}, kSix);
  const std::string members = gzip_bytes(plain.substr(0, 7)) + gzip_bytes(plain.substr(7));
  for (const std::string& file : {plain, gzip_bytes(plain), members}) {
    const Read read = read_bytes(file);
    CHECK(read.header.type == IdxType::kUInt8);
    CHECK(read.header.sizes == std::vector<int64_t>{2, 3});
    CHECK(read.header.elements == 6);
    CHECK(read.bytes == std::vector<uint8_t>{1, 2, 3, 4, 5, 6});
    CHECK(read.allocations == 1);
  }
}

TEST_CASE("multi-byte elements are big-endian in the file") {
  const Read halves = read_bytes(idx_bytes(0x0B, {2}, std::string("\x01\x02\xff\xfe", 4)));
  int16_t values[2];
  std::memcpy(values, halves.bytes.data(), sizeof values);
  CHECK(values[0] == 0x0102);
  CHECK(values[1] == -2);
  const Read word = read_bytes(idx_bytes(0x0C, {1}, std::string("\x80\x00\x00\x01", 4)));
  int32_t whole;
  std::memcpy(&whole, word.bytes.data(), sizeof whole);
  CHECK(whole == -2147483647);
  const Read real = read_bytes(idx_bytes(0x0D, {1}, std::string("\x3f\xc0\x00\x00", 4)));
  float single;
  std::memcpy(&single, real.bytes.data(), sizeof single);
  CHECK(single == 1.5f);
  const Read wide = read_bytes(idx_bytes(0x0E, {1}, std::string("\xbf\xf8\x00\x00\x00\x00\x00\x00", 8)));
  double twice;
  std::memcpy(&twice, wide.bytes.data(), sizeof twice);
  CHECK(twice == -1.5);
}

TEST_CASE("every type round-trips, plain and gzipped") {
  TempFolder folder;
  for (int code : {0x08, 0x09, 0x0B, 0x0C, 0x0D, 0x0E})
    for (const char* name : {"a.idx", "a.idx.gz"})
      for (const auto& sizes : {std::vector<int64_t>{3, 5, 7}, {0}, {4, 0, 2}, {1}, {70001}}) {
        const IdxType type = static_cast<IdxType>(code);
        int64_t elements = 1;
        for (int64_t size : sizes) elements *= size;
        std::vector<uint8_t> bytes(static_cast<std::size_t>(elements * idx_item_size(type)));
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + i / 256);
        write_idx(folder / name, type, sizes, bytes.data());
        CHECK(GzInput(folder / name).is_gzip() == (std::string(name) == "a.idx.gz"));
        const Read read = read_bytes(read_file(folder / name));
        CHECK(read.header.type == type);
        CHECK(read.header.sizes == sizes);
        CHECK(read.bytes == bytes);
      }
  CHECK_THROWS_WITH_AS(write_idx(folder / "b", IdxType::kUInt8, {}, nullptr), Contains("1 to 12 sizes"), Error);
  CHECK_THROWS_WITH_AS(write_idx(folder / "b", IdxType::kUInt8, {1, -1}, nullptr), Contains("size -1"), Error);
  CHECK_THROWS_WITH_AS(write_idx(folder / "b", IdxType::kUInt8, {int64_t{1} << 32, 0}, nullptr),
                       Contains("does not fit in 32 bits"), Error);
}

TEST_CASE("a broken header is refused before memory is allocated") {
  const std::string good = idx_bytes(0x08, {2, 3}, kSix);
  CHECK(refusal("") == "a.idx: not an IDX file: it has only 0 bytes");
  CHECK(refusal(good.substr(0, 3)) == "a.idx: not an IDX file: it has only 3 bytes");
  CHECK(refusal("PK" + good) == "a.idx: not an IDX file: it begins with 0x50 0x4B instead of 0x00 0x00");
  CHECK(refusal(idx_bytes(0x0A, {6}, kSix)).starts_with("a.idx: unknown IDX element type 0x0A (known: 0x08 uint8"));
  CHECK(refusal(idx_bytes(0x08, {}, kSix)) == "a.idx: IDX rank 0 is outside 1 to 12");
  CHECK(refusal(idx_bytes(0x08, std::vector<uint32_t>(33, 1), "x")) == "a.idx: IDX rank 33 is outside 1 to 12");
  CHECK(refusal(good.substr(0, 11)) == "a.idx: truncated in the IDX header, which must have 2 sizes");
  CHECK(refusal(good.substr(0, 13)) == "a.idx: truncated: sizes [2, 3] require a file of 18 bytes, got 13");
  CHECK(refusal(good + "x") == "a.idx: too long: sizes [2, 3] require a file of 18 bytes, got 19");
  CHECK(refusal(idx_bytes(0x08, {0xFFFFFFFF, 0xFFFFFFFF}, kSix)) ==
        "a.idx: sizes [4294967295, 4294967295] are too large: their product does not fit in 63 bits");
  CHECK(refusal(idx_bytes(0x08, {0, 0xFFFFFFFF, 0xFFFFFFFF}, "")).find("too large") != std::string::npos);
  // 2^61 doubles: the number of elements fits in 63 bits, the number of bytes does not.
  CHECK(refusal(idx_bytes(0x0E, {1u << 31, 1u << 30}, kSix)).find("too large") != std::string::npos);
  CHECK(refusal(idx_bytes(0x0E, {1u << 30, 1u << 29}, kSix)).find("truncated: sizes") != std::string::npos);
  CHECK(refusal(gzip_bytes(idx_bytes(0x08, {0xFFFFFFFF, 1000}, kSix))).find("cannot contain that many") !=
        std::string::npos);
}

TEST_CASE("a gzip file that contradicts its header is refused") {
  const std::string plain = idx_bytes(0x08, {2, 3}, kSix), good = gzip_bytes(plain);
  CHECK(refusal(gzip_bytes(plain + "x")) ==
        "allocated, a.idx: too long: more bytes follow the 6 that sizes [2, 3] require");
  CHECK(refusal(gzip_bytes(plain.substr(0, 16))) ==
        "allocated, a.idx: truncated: sizes [2, 3] require 6 bytes of elements, got 4");
  CHECK(refusal(good + "garbage") == "allocated, a.idx: bytes that are not gzip follow the end of the gzip stream");
  CHECK(refusal(good + "\x1fnot gzip").find("the gzip stream is corrupt") != std::string::npos);
  std::string wrong_sum = good;
  wrong_sum[good.size() - 6] ^= 1;
  CHECK(refusal(wrong_sum) == "allocated, a.idx: the gzip stream is corrupt: incorrect data check");
  for (std::size_t cut = 2; cut < good.size(); ++cut)
    CHECK_MESSAGE(refusal(good.substr(0, cut)).find("truncated") != std::string::npos, "cut at ", cut);
}

TEST_CASE("a gzip bomb uses no more memory than its header requires") {
  const std::string bomb = gzip_bytes(idx_bytes(0x08, {2, 3}, std::string(64 << 20, '\0')));
  CHECK(bomb.size() < 100000);
  CHECK(refusal(bomb) == "allocated, a.idx: too long: more bytes follow the 6 that sizes [2, 3] require");
}

TEST_CASE("a gzip file with any single bit flipped reads the same elements or is refused") {
  const std::string good = gzip_bytes(idx_bytes(0x08, {2, 3}, kSix));
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      try {
        const Read read = read_bytes(bad);
        CHECK(read.bytes == std::vector<uint8_t>{1, 2, 3, 4, 5, 6});
      } catch (const Error&) {
        ++refused;
      }
    }
  CHECK(refused > 100);
}

TEST_CASE("a path that is not a regular file is refused") {
  TempFolder folder;
  const auto none = [](const IdxHeader&) -> void* { return nullptr; };
  CHECK_THROWS_WITH_AS(read_idx(folder / "none", none), Contains("No such file"), Error);
  CHECK_THROWS_WITH_AS(read_idx(folder.path(), none), Contains("not a regular file"), Error);
  CHECK_THROWS_WITH_AS(read_idx("/dev/zero", none), Contains("not a regular file"), Error);
}

TEST_CASE("the real Fashion-MNIST can be read") {
  const std::string path = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: Debian's package dataset-fashion-mnist is not installed");
    return;
  }
  std::vector<uint8_t> pixels;
  const IdxHeader header = read_idx(path, [&](const IdxHeader& h) -> void* {
    pixels.resize(h.bytes);
    return pixels.data();
  });
  CHECK(header.sizes == std::vector<int64_t>{60000, 28, 28});
  uint64_t sum = 0;
  for (uint8_t pixel : pixels) sum += pixel;
  // The mean of the training images is 0.2860, as published.
  CHECK(static_cast<double>(sum) / static_cast<double>(pixels.size()) / 255 == doctest::Approx(0.2860).epsilon(0.001));
}
