// BytePairTokenizer: byte-level byte-pair encoding with GPT-2's splitting into words (Radford et al. 2019).
//
//   auto tokenizer = text::BytePairTokenizer::from_files("vocab.json", "merges.txt");
//   std::vector<int64_t> tokens = tokenizer.encode("Hello world");   // 15496, 995 with GPT-2's files
//
// A text is split into words, each with the space before it; within a word, the pair of neighbours that the files rank
// first is merged, until none is left. Bytes that are not part of valid UTF-8 count as punctuation.
#pragma once
#include <optional>
#include <unordered_map>

#include "tandem/datasets/text/tokenizer.h"

namespace tandem::text {

class BytePairTokenizer : public Tokenizer {
 public:
  using SpecialTokens = std::unordered_map<std::string, int64_t>;

  /// GPT-2's two files: an object from token to number, and the merges by rank. Tokens that are neither a byte nor the
  /// result of a merge are special, such as <|endoftext|>. Throws Error that names the file and what is wrong: a merge
  /// of unknown tokens, a byte without a token, a number that occurs twice or is above 2^22.
  static BytePairTokenizer from_files(const std::string& vocab_json, const std::string& merges_txt);
  /// A file of tiktoken: lines with a token in base64 and its rank, which is its number. Words are split as by GPT-2.
  static BytePairTokenizer from_tiktoken(const std::string& path, const SpecialTokens& special = {});

  /// Special tokens in the text are encoded like any other text.
  std::vector<int64_t> encode(std::string_view text) const override;
  /// Special tokens in the text become one token each; of several that begin at the same place, the longest.
  std::vector<int64_t> encode_with_special(std::string_view text) const;
  std::string decode(ArrayRef<int64_t> tokens) const override;
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  /// The number of a token, ordinary or special; nullopt if there is none.
  std::optional<int64_t> find(std::string_view token) const;
  const SpecialTokens& special_tokens() const { return special_; }

 private:
  struct Merge {
    int64_t rank;
    uint32_t token;
  };
  class Merger;
  BytePairTokenizer() = default;
  void place(const std::string& bytes, uint64_t token, const char* kind, const std::string& file);
  void add(const std::string& bytes, uint64_t token, const std::string& file);
  void add_special(const std::string& text, uint64_t token, const std::string& file);
  void find_bytes(const std::string& file);
  void read_merges(const std::string& path, const std::string& vocab);
  void separate_special(const std::string& vocab);

  std::vector<std::string> bytes_;                     // of each token; empty: no such token
  std::unordered_map<std::string, uint32_t> numbers_;  // of ordinary tokens
  std::unordered_map<uint64_t, Merge> merges_;         // by left << 32 | right
  SpecialTokens special_;
  std::size_t longest_special_ = 0;
  uint32_t of_byte_[256] = {};
  bool whole_words_ = false;  // a word that is a token is not split, whatever the merges
};

/// GPT-2's splitting: the words of a text, which follow one another without gaps. These are contractions such as 's;
/// letters, numbers, or other characters, each with one space before them if there is one; and white space, without its
/// last character if a word follows.
std::vector<std::string_view> split_words(std::string_view text);

}  // namespace tandem::text
