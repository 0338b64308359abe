// Internal: the characters of a text in UTF-8, and their classes in Unicode.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::text::detail {

/// Added to the value of a byte that is not part of valid UTF-8; above all code points.
inline constexpr uint32_t kLooseByte = 0x200000;

struct Character {
  uint32_t code;      ///< code point, or kLooseByte plus the byte
  std::size_t bytes;  ///< 1 to 4
};

/// The character at `at`, which must be inside the text.
Character character_at(std::string_view text, std::size_t at);

enum class CharacterClass : uint8_t { kOther, kLetter, kNumber, kSpace };

/// Letter: Unicode's categories L; number: N; space: White_Space. A loose byte is other.
CharacterClass class_of(uint32_t code);

/// Where GPT-2's word that begins at `at` ends.
std::size_t end_of_word(std::string_view text, std::size_t at);

/// The content of a regular file. Throws Error that names it if it cannot be read or has more than `most` bytes.
std::string content_of(const std::string& path, uint64_t most);

}  // namespace tandem::text::detail
