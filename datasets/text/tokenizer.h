// Tokenizers: texts to numbers and back. A text is any sequence of bytes, usually UTF-8.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/base/array_ref.h"
#include "tandem/core/tensor.h"

namespace tandem::text {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// The tokens of a text; decode() gives the text back, byte for byte. Thread-safe.
  virtual std::vector<int64_t> encode(std::string_view text) const = 0;
  /// Throws Error on a number that is no token.
  virtual std::string decode(ArrayRef<int64_t> tokens) const = 0;
  /// One more than the largest token.
  virtual int64_t size() const = 0;
};

/// One token per character, numbered from 0 in the order of code points. A byte that is not part of valid UTF-8 is a
/// character, too; these follow the others.
class CharTokenizer : public Tokenizer {
 public:
  /// Knows the characters of `text`.
  explicit CharTokenizer(std::string_view text);
  /// Throws Error on a character that is not known.
  std::vector<int64_t> encode(std::string_view text) const override;
  std::string decode(ArrayRef<int64_t> tokens) const override;
  int64_t size() const override { return static_cast<int64_t>(characters_.size()); }
  /// By number.
  const std::vector<std::string>& characters() const { return characters_; }

 private:
  std::vector<std::string> characters_;
  std::vector<uint32_t> codes_;  // of characters_, ascending
};

/// The tokens of a file, int32 [count]. Throws Error if the file cannot be read or has more than 4 GiB.
Tensor encode_file(const std::string& path, const Tokenizer& tokenizer);

}  // namespace tandem::text
