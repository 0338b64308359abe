// GPT-2 splits with the regular expression
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// whose alternatives are tried in this order at the end of the previous word.
#include "tandem/datasets/text/byte_pair.h"
#include "tandem/datasets/text/characters.h"

namespace tandem::text {
namespace {

using detail::CharacterClass;

// The length of a contraction at the beginning of `text`; 0 if there is none.
std::size_t contraction(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  if (std::string_view("stmd").find(text[1]) != std::string_view::npos) return 2;
  const std::string_view two = text.substr(1, 2);
  return two == "re" || two == "ve" || two == "ll" ? 3 : 0;
}

struct Run {
  std::size_t end;
  std::size_t last;  // where its last character begins
};

// The characters of one class from `at` on.
Run run_of(std::string_view text, std::size_t at, CharacterClass kind) {
  Run run{at, at};
  while (run.end < text.size()) {
    const detail::Character c = detail::character_at(text, run.end);
    if (detail::class_of(c.code) != kind) break;
    run.last = run.end;
    run.end += c.bytes;
  }
  return run;
}

}  // namespace

std::size_t detail::end_of_word(std::string_view text, std::size_t at) {
  if (const std::size_t bytes = contraction(text.substr(at))) return at + bytes;
  const std::size_t start = text[at] == ' ' && at + 1 < text.size() ? at + 1 : at;
  const CharacterClass kind = detail::class_of(detail::character_at(text, start).code);
  if (kind != CharacterClass::kSpace) return run_of(text, start, kind).end;
  const Run space = run_of(text, at, CharacterClass::kSpace);
  return space.end == text.size() || space.last == at ? space.end : space.last;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = detail::end_of_word(text, at);
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace tandem::text
