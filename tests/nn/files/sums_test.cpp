// Checksums of safetensors files: CRC-32 itself, detected damage, and files rewritten by other programs.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/nn/files/crc32.h"
#include "tandem/nn/files/safetensors.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using doctest::Contains;
using serialize::parse_safetensors;
using serialize::SafeTensors;

namespace {

// Bitwise reference implementation, after RFC 1952.
uint32_t slow_crc32(const unsigned char* data, std::size_t bytes, uint32_t before) {
  uint32_t state = ~before;
  for (std::size_t i = 0; i < bytes; ++i) {
    state ^= data[i];
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1 ? 0xedb88320u : 0u);
  }
  return ~state;
}

std::string sample() {
  OrderedDict<std::string, Tensor> tensors{{"weight", arange(6, kFloat).view({2, 3})},
                                           {"bias", full({3}, 0.5)},
                                           {"steps", full({}, 7, TensorOptions(kLong))},
                                           {"mask", ones({3}, TensorOptions(kBool))},
                                           {"none", zeros({2, 0})}};
  return serialize::safetensors_bytes(tensors, {{"config", R"({"lr":0.25})"}, {"format", "pt"}});
}
SafeTensors parse(const std::string& bytes) { return parse_safetensors(bytes.data(), bytes.size(), "x"); }

// Whether everything in `a` is also in `b`, with equal values.
bool holds(const SafeTensors& a, const SafeTensors& b) {
  for (const auto& item : a.metadata) {
    const std::string* text = b.metadata.find(item.key());
    if (text == nullptr || *text != item.value()) return false;
  }
  for (const auto& item : a.tensors) {
    const Tensor& t = item.value();
    const Tensor* other = b.tensors.find(item.key());
    if (other == nullptr || other->dtype() != t.dtype() || other->sizes() != t.sizes()) return false;
    if (t.numel() != 0 && std::memcmp(t.data_ptr(), other->data_ptr(), t.nbytes()) != 0) return false;
  }
  return a.tensors.size() == b.tensors.size();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  REQUIRE(from.size() == to.size());
  return text.replace(text.find(from), from.size(), to);
}

// `sample` with its header replaced by one of any length.
std::string with_header(const std::string& header) {
  const std::string bytes = sample();
  uint64_t old = 0, length = header.size();
  std::memcpy(&old, bytes.data(), 8);
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + bytes.substr(8 + old);
}
std::string header_of(const std::string& bytes) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  return bytes.substr(8, length);
}

}  // namespace

TEST_CASE("CRC-32 for every length and alignment") {
  CHECK(serialize::crc32("123456789", 9) == 0xcbf43926);
  std::vector<unsigned char> bytes(5000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * i + i / 7);
  int wrong = 0;
  for (std::size_t size = 0; size < 700; ++size)
    wrong += serialize::crc32(&bytes[size % 5], size, 77) != slow_crc32(&bytes[size % 5], size, 77);
  CHECK(wrong == 0);
  const uint32_t whole = serialize::crc32(bytes.data(), 5000);
  CHECK(whole == slow_crc32(bytes.data(), 5000, 0));
  for (const std::size_t cut : {0, 1, 63, 256, 4999, 5000}) {
    const uint32_t head = serialize::crc32(bytes.data(), cut);
    CHECK(serialize::crc32(bytes.data() + cut, 5000 - cut, head) == whole);
    CHECK(serialize::joined_crc32(head, serialize::crc32(bytes.data() + cut, 5000 - cut), 5000 - cut) == whole);
  }
}

TEST_CASE("a flipped bit anywhere either throws or has no effect") {
  const std::string bytes = sample();
  const SafeTensors whole = parse(bytes);
  CHECK(whole.metadata.keys() == std::vector<std::string>{"config", "format"});
  int refused = 0, same = 0, different = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (int change = 1; change < 256; change = change < 128 ? change * 2 : change + 127) {  // a bit, or all
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ change);
      try {
        ++(holds(whole, parse(flipped)) ? same : different);
      } catch (const Error&) {
        ++refused;
      }
    }
  CHECK(different == 0);
  CHECK(refused > 9 * static_cast<int>(bytes.size()) * 8 / 10);
  MESSAGE(refused, " rejected, ", same, " unchanged");
}

TEST_CASE("errors name the damage and the cure") {
  const std::string bytes = sample();
  std::string data = bytes;
  data.back() ^= 1;  // last byte of `mask`
  CHECK_THROWS_WITH_AS(parse(data), Contains("x: damaged: tensor 'mask' has CRC-32 "), Error);
  CHECK_THROWS_WITH_AS(parse(data), Contains("set TANDEM_IGNORE_CHECKSUMS=1 to load it anyway"), Error);
  CHECK_THROWS_WITH_AS(parse(replaced(bytes, ",\"bias\":{", ",\"bios\":{")), Contains("tensor 'bias' is missing"),
                       Error);
  CHECK_THROWS_WITH_AS(parse(replaced(bytes, "\"shape\":[2,3]", "\"shape\":[3,2]")), Contains("tensor 'weight'"),
                       Error);
  CHECK_THROWS_WITH_AS(parse(replaced(bytes, "I64", "F64")), Contains("tensor 'steps'"), Error);
  CHECK_THROWS_WITH_AS(parse(replaced(bytes, "0.25", "0.35")), Contains("metadata 'config' has CRC-32 "), Error);
  CHECK_THROWS_WITH_AS(parse(replaced(bytes, "{\\\"tensors", "{\\\"tensers")), Contains("unknown group"), Error);
  CHECK_THROWS_WITH_AS(serialize::safetensors_bytes(OrderedDict<std::string, Tensor>(), {{"tandem.crc32", "mine"}}),
                       Contains("is reserved for checksums"), Error);
}

TEST_CASE("wrong checksums can be ignored") {
  std::string bytes = replaced(sample(), "0.25", "0.35");
  const auto ignored = parse_safetensors(bytes.data(), bytes.size(), "x", serialize::Checksums::kIgnore);
  CHECK(ignored.metadata["config"] == R"({"lr":0.35})");
  CHECK(!ignored.metadata.contains("tandem.crc32"));
  for (const char* value : {"1", "yes"}) {
    ::setenv(serialize::kIgnoreSums, value, 1);
    CHECK(parse(bytes).metadata["config"] == R"({"lr":0.35})");
  }
  for (const char* value : {"", "0"}) {
    ::setenv(serialize::kIgnoreSums, value, 1);
    CHECK_THROWS_AS(parse(bytes), Error);
  }
  ::unsetenv(serialize::kIgnoreSums);
}

TEST_CASE("files that other programs rewrite") {
  const SafeTensors whole = parse(sample());
  std::string header = header_of(sample());
  const std::size_t sums = header.find(",\"tandem.crc32\""), end = header.find("}}\"", sums) + 3;
  SUBCASE("without the checksums") {
    const auto read = parse(with_header(header.substr(0, sums) + header.substr(end)));
    CHECK(holds(whole, read));
  }
  SUBCASE("with the checksums first and an extra entry") {
    const std::string entry = header.substr(sums + 1, end - sums - 1);
    header = header.substr(0, sums) + header.substr(end);
    header.insert(std::string("{\"__metadata__\":{").size(), entry + ",\"by\":\"another\",");
    const auto read = parse(with_header(header));
    CHECK(holds(whole, read));
    CHECK(read.metadata["by"] == "another");
  }
}

TEST_CASE("parallel and in-memory checksums of a large file agree") {
  const test::TempFolder folder;
  OrderedDict<std::string, Tensor> tensors{{"large", arange((int64_t{1} << 20) + 13, kFloat)}};
  serialize::save_safetensors(folder / "a", tensors);
  const std::string bytes = test::read_file(folder / "a");
  CHECK(bytes == serialize::safetensors_bytes(tensors));
  CHECK(holds(parse(bytes), serialize::load_safetensors(folder / "a")));
  std::string damaged = bytes;
  damaged[damaged.size() / 2] ^= 16;
  test::write_file(folder / "a", damaged);
  CHECK_THROWS_WITH_AS(serialize::load_safetensors(folder / "a"), Contains("tensor 'large'"), Error);
  CHECK_NOTHROW(serialize::load_safetensors(folder / "a", nullopt, serialize::Checksums::kIgnore));
}
