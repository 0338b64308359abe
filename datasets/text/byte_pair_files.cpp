// Reads vocabularies. Every part that merging can produce is a token, because each merge is of tokens and gives a
// token; the files are checked for that.
#include <algorithm>
#include <array>
#include <sstream>
#include <unordered_set>

#include "tandem/core/error.h"
#include "tandem/datasets/text/byte_pair.h"
#include "tandem/datasets/text/characters.h"
#include "tandem/nn/files/json_reader.h"

namespace tandem::text {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20, kMaxTokens = uint64_t{1} << 22;

// GPT-2's files write each byte as a printable character: itself if it is one in Latin-1, else one from U+0100 on.
std::array<uint32_t, 256> written_bytes() {
  std::array<uint32_t, 256> out{};
  uint32_t others = 0x100;
  for (uint32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);
    out[b] = printable ? b : others++;
  }
  return out;
}

// The bytes that a written token stands for; nullopt if it has other characters.
std::optional<std::string> bytes_of(std::string_view written) {
  static const std::array<uint32_t, 256> codes = written_bytes();
  std::string out;
  for (std::size_t at = 0; at < written.size();) {
    const detail::Character c = detail::character_at(written, at);
    const auto found = std::find(codes.begin(), codes.end(), c.code);
    if (found == codes.end()) return std::nullopt;
    out += static_cast<char>(found - codes.begin());
    at += c.bytes;
  }
  return out;
}

std::string from_base64(std::string_view text, const std::string& where) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const bool sound = !text.empty() && text.size() % 4 == 0;
  while (sound && text.ends_with('=') && text.size() % 4 != 2) text.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    check(sound && digit != std::string_view::npos, where, ": invalid base64");
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if ((count += 6) >= 8) out += static_cast<char>(bits >> (count -= 8));
  }
  check(sound, where, ": invalid base64");
  return out;
}

// The lines of a file with their places for error messages; a carriage return at the end is dropped.
template <class Line>
void for_lines(const std::string& path, const Line& line) {
  std::istringstream in(detail::content_of(path, kMaxFileBytes));
  int64_t number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    if (text.ends_with('\r')) text.pop_back();
    line(text, concat(path, ":", number));
  }
}

// The two words of a line.
std::pair<std::string, std::string> two_words(const std::string& line, const std::string& where) {
  const std::size_t space = line.find(' ');
  check(space != std::string::npos && space > 0 && space + 1 < line.size() &&
            line.find(' ', space + 1) == std::string::npos,
        where, ": expected two words");
  return {line.substr(0, space), line.substr(space + 1)};
}

}  // namespace

void BytePairTokenizer::place(const std::string& bytes, uint64_t token, const char* kind, const std::string& file) {
  check(token < kMaxTokens, file, ": ", kind, " ", token, ", expected at most ", kMaxTokens - 1);
  check(!bytes.empty(), file, ": ", kind, " ", token, " is empty");
  if (bytes_.size() <= token) bytes_.resize(token + 1);
  check(bytes_[token].empty(), file, ": two tokens have the number ", token);
  bytes_[token] = bytes;
}

void BytePairTokenizer::add(const std::string& bytes, uint64_t token, const std::string& file) {
  place(bytes, token, "token", file);
  check(numbers_.emplace(bytes, static_cast<uint32_t>(token)).second, file, ": token ", token, " occurs twice");
}

void BytePairTokenizer::add_special(const std::string& text, uint64_t token, const std::string& file) {
  place(text, token, "special token", file);
  special_.emplace(text, static_cast<int64_t>(token));
  longest_special_ = std::max(longest_special_, text.size());
}

void BytePairTokenizer::find_bytes(const std::string& file) {
  for (int b = 0; b < 256; ++b) {
    const auto found = numbers_.find(std::string(1, static_cast<char>(b)));
    check(found != numbers_.end(), file, ": byte ", b, " has no token");
    of_byte_[b] = found->second;
  }
}

void BytePairTokenizer::read_merges(const std::string& path, const std::string& vocab) {
  int64_t rank = 0;
  for_lines(path, [&](const std::string& line, const std::string& where) {
    if (line.empty() || (rank == 0 && line.starts_with("#version"))) return;
    const auto [first, second] = two_words(line, where);
    const auto token_of = [&](const std::string& written) {
      const auto bytes = bytes_of(written);
      const auto found = bytes ? numbers_.find(*bytes) : numbers_.end();
      check(found != numbers_.end(), where, ": \"", written, "\" is no token of ", vocab);
      return found->second;
    };
    const uint32_t left = token_of(first), right = token_of(second), merged = token_of(first + second);
    merges_.try_emplace(uint64_t{left} << 32 | right, Merge{rank++, merged});
  });
}

// Tokens that are neither a byte nor the result of a merge are special.
void BytePairTokenizer::separate_special(const std::string& vocab) {
  std::unordered_set<uint32_t> made(of_byte_, of_byte_ + 256);
  for (const auto& [pair, merge] : merges_) made.insert(merge.token);
  for (auto at = numbers_.begin(); at != numbers_.end();) {
    if (made.count(at->second) != 0) {
      ++at;
      continue;
    }
    const auto [text, token] = *at;
    at = numbers_.erase(at);
    bytes_[token].clear();
    add_special(text, token, vocab);
  }
}

BytePairTokenizer BytePairTokenizer::from_files(const std::string& vocab_json, const std::string& merges_txt) {
  BytePairTokenizer out;
  const std::string json = detail::content_of(vocab_json, kMaxFileBytes);
  serialize::JsonReader reader(json, vocab_json);
  reader.object("a token occurs twice", [&](const std::string& written) {
    const uint64_t token = reader.integer();
    if (const auto bytes = bytes_of(written))
      out.add(*bytes, token, vocab_json);
    else  // it has characters that stand for no byte
      out.add_special(written, token, vocab_json);
  });
  reader.end();
  out.find_bytes(vocab_json);
  out.read_merges(merges_txt, vocab_json);
  out.separate_special(vocab_json);
  return out;
}

BytePairTokenizer BytePairTokenizer::from_tiktoken(const std::string& path, const SpecialTokens& special) {
  BytePairTokenizer out;
  out.whole_words_ = true;
  for_lines(path, [&](const std::string& line, const std::string& where) {
    if (line.empty()) return;
    const auto [token, rank] = two_words(line, where);
    check(rank.size() <= 9 && rank.find_first_not_of("0123456789") == std::string::npos, where, ": rank \"", rank,
          "\"");
    out.add(from_base64(token, where), std::stoull(rank), where);
  });
  out.find_bytes(path);
  // Any two tokens that make a token can be merged.
  for (const auto& [bytes, token] : out.numbers_)
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = out.numbers_.find(bytes.substr(0, cut)), right = out.numbers_.find(bytes.substr(cut));
      if (left == out.numbers_.end() || right == out.numbers_.end()) continue;
      out.merges_.emplace(uint64_t{left->second} << 32 | right->second, Merge{token, token});
    }
  for (const auto& [text, token] : special) {
    check(token >= 0, "BytePairTokenizer: special token ", token, " is negative");
    out.add_special(text, static_cast<uint64_t>(token), path);
  }
  return out;
}

}  // namespace tandem::text
