// TextPieces: a text file in UTF-8, piece by piece, so that texts of any size can be encoded.
//
// A byte order mark at the start is left out, and "\r\n" is read as "\n". Bytes that are not UTF-8 and NUL bytes are
// errors: such a file is no text, or one in another encoding.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tandem/datasets/text/tokenizer.h"

namespace tandem::text {

/// Where a piece may end: after any character; or only before white space that follows another character, where GPT-2's
/// words and so the tokens of byte-pair encoding end, too.
enum class Cut { kCharacter, kWord };

class TextPieces {
 public:
  /// Pieces of about `bytes` bytes; longer ones if there is no place to cut. Throws Error if this is not a regular file
  /// that can be read, or a gzip file.
  TextPieces(const std::string& path, Cut cut, std::size_t bytes = std::size_t{4} << 20);
  ~TextPieces();
  TextPieces(const TextPieces&) = delete;
  TextPieces& operator=(const TextPieces&) = delete;

  /// The next piece, never empty; nullopt at the end. Throws Error that names the file and the line of a byte that is
  /// not UTF-8 or is NUL.
  std::optional<std::string> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A tokenizer for the characters of a file. Throws Error as TextPieces does.
CharTokenizer characters_of_file(const std::string& path);

/// The tokens of a file, [count], as uint8, int16 or int32: the smallest that holds `size` different tokens. `encode`
/// is called for each piece. Throws Error as TextPieces and `encode` do.
Tensor encode_pieces(const std::string& path, Cut cut, int64_t size,
                     const std::function<std::vector<int64_t>(const std::string& piece)>& encode);

}  // namespace tandem::text
