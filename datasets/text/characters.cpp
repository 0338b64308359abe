// UTF-8 and the table of classes.
#include "tandem/datasets/text/characters.h"

#include <algorithm>
#include <iterator>

#include "tandem/core/error.h"
#include "tandem/datasets/gz_input.h"
#include "tandem/datasets/text/unicode_table.h"

namespace tandem::text::detail {

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const Character loose{kLooseByte + first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - at < bytes) return loose;
  uint32_t code = first & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return loose;
    code = code << 6 | (byte(i) & 0x3F);
  }
  const uint32_t least = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return code < least || code > 0x10FFFF || surrogate ? loose : Character{code, bytes};
}

CharacterClass class_of(uint32_t code) {
  if (code <= 0x20) return code == 0x20 || (code >= 9 && code <= 13) ? CharacterClass::kSpace : CharacterClass::kOther;
  if (code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
      code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000)
    return CharacterClass::kSpace;
  if (code >= kLooseByte) return CharacterClass::kOther;
  const auto* const after = std::upper_bound(std::begin(kUnicodeRuns), std::end(kUnicodeRuns), code << 2 | 3);
  return after == std::begin(kUnicodeRuns) ? CharacterClass::kOther : static_cast<CharacterClass>(after[-1] & 3);
}

std::string content_of(const std::string& path, uint64_t most) {
  data::GzInput input(path);
  check(input.file_bytes() <= most, path, ": ", input.file_bytes(), " bytes, expected at most ", most);
  check(!input.is_gzip(), path, ": a gzip file; decompress it first");
  std::string out(input.file_bytes(), '\0');
  out.resize(input.read(out.data(), out.size()));
  return out;
}

}  // namespace tandem::text::detail
