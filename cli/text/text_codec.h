// Text as tokens and back, for models of texts.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tandem::cli {

struct TextCodec {
  /// Both are empty if there is no tokenizer. encode throws Error on a character that is no token.
  std::function<std::vector<int64_t>(const std::string& text)> encode{};
  /// The bytes of one token; U+FFFD for a number that is none. A character may be spread over several tokens.
  std::function<std::string(int64_t token)> decode{};
  int64_t size = 0;          ///< one more than the largest token
  int64_t end_of_text = -1;  ///< the token between texts; -1: none
  bool by_words = false;     ///< tokens do not cross the beginning of a word
  /// Name and content of the files that find_codec reads it from.
  std::vector<std::pair<std::string, std::string>> files{};
};

/// The tokenizer in a folder, such as the folder of a model's weights: GPT-2's, from vocab.json and merges.txt, or the
/// characters of a tokenizer.json that this program has written; an empty one if there are no such files. Throws Error
/// if they are broken.
TextCodec find_codec(const std::string& folder);
/// The characters of a text file. Throws Error as text::TextPieces does.
TextCodec codec_of_characters(const std::string& text_file);

/// Collects bytes and returns as many of them as are whole UTF-8 characters, made safe for a terminal; tabs and line
/// ends stay.
class CharacterStream {
 public:
  std::string add(const std::string& bytes);
  /// What is left: '?' for an incomplete character.
  std::string finish();

 private:
  std::string waiting_;
};

}  // namespace tandem::cli
