// SHA-256 (FIPS 180-4), to verify downloads and to compare weights.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tandem::cli {

class Sha256 {
 public:
  void update(const void* data, std::size_t bytes);
  /// The digest of all data so far as 64 hexadecimal digits. Call once.
  std::string hex_digest();

 private:
  void compress(const unsigned char* block);
  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_{};
  std::size_t filled_ = 0;
  uint64_t bytes_ = 0;
};

/// SHA-256 of a file's content, decompressed if it is gzip. Throws Error if the content is longer than
/// `max_bytes`, and whatever data::GzInput throws.
std::string sha256_of_content(const std::string& path, int64_t max_bytes);

}  // namespace tandem::cli
