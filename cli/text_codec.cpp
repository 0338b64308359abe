// Tokenizers for tandem generate, and its output of characters.
#include "tandem/cli/text_codec.h"

#include <filesystem>
#include <memory>

#include "tandem/cli/terminal.h"
#include "tandem/datasets/text/byte_pair.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

// The number of bytes, up to 3, of a character that `text` ends with the beginning of.
std::size_t incomplete_end(const std::string& text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // a continuation
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

std::string safe(const std::string& text) {
  std::string out, part;
  for (const char c : text) {
    if (c != '\n' && c != '\t') {
      part += c;
      continue;
    }
    out += printable(part) + c;
    part.clear();
  }
  return out + printable(part);
}

}  // namespace

TextCodec find_codec(const std::string& folder, int64_t vocab_size) {
  const fs::path vocab = fs::path(folder) / "vocab.json", merges = fs::path(folder) / "merges.txt";
  if (!fs::exists(vocab) || !fs::exists(merges)) return {};
  const auto tokenizer = std::make_shared<const text::BytePairTokenizer>(
      text::BytePairTokenizer::from_files(vocab.string(), merges.string()));
  check(tokenizer->size() <= vocab_size, vocab.string(), ": has tokens up to ", tokenizer->size() - 1,
        ", the model only ", vocab_size);
  return {[tokenizer](const std::string& text) { return tokenizer->encode_with_special(text); },
          [tokenizer](int64_t token) {  // a model may have more tokens than the files, as padding
            return token < tokenizer->size() ? tokenizer->decode({token}) : std::string("\uFFFD");
          }};
}

std::string CharacterStream::add(const std::string& bytes) {
  waiting_ += bytes;
  const std::size_t whole = waiting_.size() - incomplete_end(waiting_);
  const std::string out = safe(waiting_.substr(0, whole));
  waiting_.erase(0, whole);
  return out;
}

std::string CharacterStream::finish() {
  const std::string out = safe(waiting_);
  waiting_.clear();
  return out;
}

}  // namespace tandem::cli
