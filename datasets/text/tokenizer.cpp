// Characters as tokens, and files of text.
#include "tandem/datasets/text/tokenizer.h"

#include <algorithm>
#include <map>

#include "tandem/core/error.h"
#include "tandem/datasets/text/characters.h"

namespace tandem::text {

CharTokenizer::CharTokenizer(std::string_view text) {
  std::map<uint32_t, std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const detail::Character c = detail::character_at(text, at);
    found.try_emplace(c.code, text.substr(at, c.bytes));
    at += c.bytes;
  }
  for (auto& [code, character] : found) {
    codes_.push_back(code);
    characters_.push_back(std::move(character));
  }
}

std::vector<int64_t> CharTokenizer::encode(std::string_view text) const {
  std::vector<int64_t> out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const detail::Character c = detail::character_at(text, at);
    const auto found = std::lower_bound(codes_.begin(), codes_.end(), c.code);
    check(found != codes_.end() && *found == c.code, "CharTokenizer: unknown character \"", text.substr(at, c.bytes),
          "\" at byte ", at);
    out.push_back(found - codes_.begin());
    at += c.bytes;
  }
  return out;
}

std::string CharTokenizer::decode(ArrayRef<int64_t> tokens) const {
  std::string out;
  for (const int64_t token : tokens) {
    check(token >= 0 && token < size(), "CharTokenizer: token ", token, ", expected 0 to ", size() - 1);
    out += characters_[static_cast<std::size_t>(token)];
  }
  return out;
}

Tensor encode_file(const std::string& path, const Tokenizer& tokenizer) {
  const std::vector<int64_t> tokens = tokenizer.encode(detail::content_of(path, uint64_t{4} << 30));
  Tensor out = empty_raw({static_cast<int64_t>(tokens.size())}, kInt, Device(kCPU, 0));
  std::transform(tokens.begin(), tokens.end(), out.data_ptr<int32_t>(),
                 [](int64_t token) { return static_cast<int32_t>(token); });
  return out;
}

}  // namespace tandem::text
