// Checksums of a safetensors file, kept in its own __metadata__ under "tandem.crc32", which other readers
// take for a text like any other:
//
//   {"tensors":{"weight":"1a2b3c4d", …},"metadata":{"format":"0badcafe", …}}
//
// CRC-32 as in gzip. A tensor's is taken over its dtype and shape as text ("F32[2,3]"), then its elements as
// they stand in the file; an entry's over its text. Names are the keys, so that order and offsets do not
// matter: a program that reads a file and writes the same tensors elsewhere keeps the sums true.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

#include "tandem/nn/safetensors_header.h"

namespace tandem::serialize {

inline constexpr const char* kSumsKey = "tandem.crc32";

struct Sums {
  std::unordered_map<std::string, uint32_t> tensors, metadata;
};

/// The sum of the dtype and shape: what the elements' is joined to.
uint32_t crc_of_kind(const TensorEntry& entry);

/// The text under kSumsKey: its length depends on the names alone. `tensors` are in the order of the header.
std::string format_sums(const Header& header, const std::vector<uint32_t>& tensors);
/// Throws Error naming `file` when the text is damaged.
Sums parse_sums(const std::string& text, const std::string& file);

/// Throws Error unless each tensor and entry that has a sum is in the header, and the entries' sums are
/// right.
void check_header_sums(const Header& header, const Sums& sums, const std::string& file);
/// Throws Error unless the sum of this tensor is `actual`; one without a sum is fine.
void check_tensor_sum(const TensorEntry& entry, uint32_t actual, const Sums& sums, const std::string& file);

}  // namespace tandem::serialize
