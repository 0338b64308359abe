// Encoding and decoding; byte_pair_files.cpp reads the files.
#include "tandem/datasets/text/byte_pair.h"

#include <algorithm>
#include <queue>

#include "tandem/core/error.h"
#include "tandem/datasets/text/characters.h"

namespace tandem::text {

// Merges the pairs of one word after another: a list of parts, and a queue of the pairs that can be merged, first rank
// first, then from left to right. Pairs whose parts have changed since are skipped.
// A word of n bytes takes n log n steps.
class BytePairTokenizer::Merger {
 public:
  explicit Merger(const BytePairTokenizer& tokenizer) : t_(tokenizer) {}

  void encode(std::string_view word, std::vector<int64_t>& out) {
    if (t_.whole_words_)
      if (const auto found = t_.numbers_.find(std::string(word)); found != t_.numbers_.end()) {
        out.push_back(found->second);
        return;
      }
    parts_.clear();
    for (const char c : word) {
      const std::size_t at = parts_.size();
      parts_.push_back({t_.of_byte_[static_cast<uint8_t>(c)], at - 1, at + 1});  // at - 1 of the first is never used
    }
    for (std::size_t i = 0; i + 1 < parts_.size(); ++i) consider(i);
    while (!pairs_.empty()) {
      const Pair pair = pairs_.top();
      pairs_.pop();
      merge(pair);
    }
    for (std::size_t i = 0; i < parts_.size(); i = parts_[i].next) out.push_back(parts_[i].token);
  }

 private:
  static constexpr uint32_t kGone = ~uint32_t{0};
  struct Part {
    uint32_t token;
    std::size_t previous, next;  // next is the number of parts after the last
  };
  struct Pair {
    int64_t rank;
    std::size_t at;
    uint32_t left, right, merged;
    bool operator<(const Pair& other) const {  // of two pairs, the greater one comes first
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };

  void consider(std::size_t at) {
    const uint32_t left = parts_[at].token, right = parts_[parts_[at].next].token;
    const auto found = t_.merges_.find(uint64_t{left} << 32 | right);
    if (found != t_.merges_.end()) pairs_.push({found->second.rank, at, left, right, found->second.token});
  }

  void merge(const Pair& pair) {
    Part& left = parts_[pair.at];
    if (left.token != pair.left || left.next == parts_.size() || parts_[left.next].token != pair.right) return;
    Part& right = parts_[left.next];
    left.token = pair.merged;
    left.next = right.next;
    right.token = kGone;
    if (left.next != parts_.size()) {
      parts_[left.next].previous = pair.at;
      consider(pair.at);
    }
    if (pair.at != 0) consider(left.previous);
  }

  const BytePairTokenizer& t_;
  std::vector<Part> parts_;
  std::priority_queue<Pair> pairs_;
};

std::vector<int64_t> BytePairTokenizer::encode(std::string_view text) const {
  std::vector<int64_t> out;
  Merger merger(*this);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = detail::end_of_word(text, at);
    merger.encode(text.substr(at, end - at), out);
    at = end;
  }
  return out;
}

std::vector<int64_t> BytePairTokenizer::encode_with_special(std::string_view text) const {
  std::vector<int64_t> out;
  const auto flush = [&](std::string_view part) {
    const std::vector<int64_t> tokens = encode(part);
    out.insert(out.end(), tokens.begin(), tokens.end());
  };
  std::size_t from = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t bytes = std::min(longest_special_, text.size() - at);
    auto found = special_.end();
    for (; bytes > 0 && found == special_.end(); --bytes) found = special_.find(std::string(text.substr(at, bytes)));
    if (found == special_.end()) {
      ++at;
      continue;
    }
    flush(text.substr(from, at - from));
    out.push_back(found->second);
    from = at += found->first.size();
  }
  flush(text.substr(from));
  return out;
}

std::string BytePairTokenizer::decode(ArrayRef<int64_t> tokens) const {
  std::string out;
  for (const int64_t token : tokens) {
    check(token >= 0 && token < size() && !bytes_[static_cast<std::size_t>(token)].empty(),
          "BytePairTokenizer: ", token, " is no token");
    out += bytes_[static_cast<std::size_t>(token)];
  }
  return out;
}

std::optional<int64_t> BytePairTokenizer::find(std::string_view token) const {
  const std::string key(token);
  if (const auto found = numbers_.find(key); found != numbers_.end()) return found->second;
  if (const auto found = special_.find(key); found != special_.end()) return found->second;
  return std::nullopt;
}

}  // namespace tandem::text
