// The constants are the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
#include "tandem/cli/data/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/datasets/gz_input.h"

namespace tandem::cli {
namespace {

// floor(2^32 * fraction(cube root of p)) by integer search, so no table needs to be trusted.
constexpr uint32_t cube_root_fraction(uint32_t prime) {
  __extension__ using Wide = unsigned __int128;
  const Wide target = Wide{prime} << 96;
  Wide root = 0;
  for (int bit = 36; bit >= 0; --bit) {
    const Wide next = root | Wide{1} << bit;
    if (next * next * next <= target) root = next;
  }
  return static_cast<uint32_t>(root);
}

constexpr std::array<uint32_t, 64> round_constants() {
  std::array<uint32_t, 64> k{};
  uint32_t candidate = 2;
  for (std::size_t found = 0; found < k.size(); ++candidate) {
    bool prime = true;
    for (uint32_t d = 2; d * d <= candidate; ++d) prime = prime && candidate % d != 0;
    if (prime) k[found++] = cube_root_fraction(candidate);
  }
  return k;
}

constexpr std::array<uint32_t, 64> kRound = round_constants();
static_assert(kRound[0] == 0x428a2f98 && kRound[63] == 0xc67178f2);

}  // namespace

void Sha256::compress(const unsigned char* block) {
  std::array<uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i)
    w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 | uint32_t{block[4 * i + 2]} << 8 |
           uint32_t{block[4 * i + 3]};
  for (std::size_t i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<uint32_t, 8> add{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += add[i];
}

void Sha256::update(const void* data, std::size_t bytes) {
  const unsigned char* from = static_cast<const unsigned char*>(data);
  bytes_ += bytes;
  while (bytes > 0) {
    if (filled_ == 0 && bytes >= block_.size()) {
      compress(from);
      from += block_.size();
      bytes -= block_.size();
      continue;
    }
    const std::size_t take = std::min(bytes, block_.size() - filled_);
    std::memcpy(block_.data() + filled_, from, take);
    from += take;
    bytes -= take;
    filled_ = (filled_ + take) % block_.size();
    if (filled_ == 0) compress(block_.data());
  }
}

std::string Sha256::hex_digest() {
  const uint64_t bits = bytes_ * 8;
  const unsigned char one = 0x80, zero = 0;
  update(&one, 1);
  while (filled_ != 56) update(&zero, 1);
  unsigned char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(bits >> (56 - 8 * i));
  update(length, sizeof length);
  std::string text;
  for (uint32_t word : state_)
    for (int shift = 28; shift >= 0; shift -= 4) text.push_back("0123456789abcdef"[word >> shift & 15]);
  return text;
}

std::string sha256_of_content(const std::string& path, int64_t max_bytes) {
  data::GzInput input(path);
  Sha256 sum;
  std::vector<unsigned char> buffer(256 * 1024);
  int64_t total = 0;
  while (const std::size_t got = input.read(buffer.data(), buffer.size())) {
    total += static_cast<int64_t>(got);
    check(total <= max_bytes, path, ": the content is longer than the expected ", max_bytes, " bytes");
    sum.update(buffer.data(), got);
  }
  return sum.hex_digest();
}

}  // namespace tandem::cli
