// Checksums of a safetensors file, stored in its __metadata__ under "tandem.crc32", which other readers treat
// as an ordinary string:
//
//   {"tensors":{"weight":"1a2b3c4d", …},"metadata":{"format":"0badcafe", …}}
//
// CRC-32 as in gzip. A tensor's checksum covers its dtype and shape as text ("F32[2,3]") followed by its
// elements as stored in the file; an entry's covers its text. Checksums are keyed by name, so order and
// offsets do not matter: they stay valid when a program reads a file and writes the same tensors elsewhere.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

#include "tandem/nn/files/safetensors_header.h"

namespace tandem::serialize {

inline constexpr const char* kSumsKey = "tandem.crc32";

struct Sums {
  std::unordered_map<std::string, uint32_t> tensors, metadata;
};

/// Whether the environment says that all checksums are to be ignored (kIgnoreSums).
bool ignores_sums();

/// The CRC of the dtype and shape, with which the tensor's checksum begins.
uint32_t crc_of_kind(const TensorEntry& entry);

/// The text under kSumsKey. Its length depends on the names alone. `tensors` are in header order.
std::string format_sums(const Header& header, const std::vector<uint32_t>& tensors);
/// Throws Error naming `file` when the text is malformed.
Sums parse_sums(const std::string& text, const std::string& file);

/// Throws Error unless each tensor and entry with a checksum is in the header and all entry checksums match.
void check_header_sums(const Header& header, const Sums& sums, const std::string& file);
/// Throws Error unless this tensor's checksum is `actual`; a tensor without a checksum passes.
void check_tensor_sum(const TensorEntry& entry, uint32_t actual, const Sums& sums, const std::string& file);

}  // namespace tandem::serialize
