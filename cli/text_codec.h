// Text as tokens and back, for tandem generate.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tandem::cli {

struct TextCodec {
  /// Both are empty if there is no tokenizer.
  std::function<std::vector<int64_t>(const std::string& text)> encode;
  /// The bytes of one token. A character may be spread over several tokens.
  std::function<std::string(int64_t token)> decode;
};

/// The tokenizer that belongs to the weights in `folder`: GPT-2's, from vocab.json and merges.txt. Throws Error if these files
/// are broken or have more tokens than the model.
TextCodec find_codec(const std::string& folder, int64_t vocab_size);

/// Collects bytes and returns as many of them as are whole UTF-8 characters, made safe for a terminal; tabs and line ends
/// stay.
class CharacterStream {
 public:
  std::string add(const std::string& bytes);
  /// What is left: '?' for an incomplete character.
  std::string finish();

 private:
  std::string waiting_;
};

}  // namespace tandem::cli
