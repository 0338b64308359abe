// Tokenizers for models of texts, and the output of characters.
//
// tokenizer.json has Hugging Face's format: a vocabulary of "words", each of which is one character.
#include "tandem/cli/text/text_codec.h"

#include <filesystem>
#include <memory>
#include <optional>

#include "tandem/cli/draw/terminal.h"
#include "tandem/datasets/gz_input.h"
#include "tandem/datasets/text/byte_pair.h"
#include "tandem/datasets/text/text_pieces.h"
#include "tandem/nn/files/json_reader.h"

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

// The content of a file of at most 256 MiB.
std::string content_of(const std::string& path) {
  data::GzInput input(path);
  check(!input.is_gzip() && input.file_bytes() <= uint64_t{256} << 20, path, ": a gzip file, or larger than 256 MiB");
  std::string out(input.file_bytes(), '\0');
  out.resize(input.read(out.data(), out.size()));
  return out;
}

TextCodec byte_pairs(const std::string& vocab, const std::string& merges) {
  const auto tokenizer =
      std::make_shared<const text::BytePairTokenizer>(text::BytePairTokenizer::from_files(vocab, merges));
  return {.encode = [tokenizer](const std::string& text) { return tokenizer->encode_with_special(text); },
          .decode =
              [tokenizer](int64_t token) {  // a model may have more tokens than the files, as padding
                return token < tokenizer->size() ? tokenizer->decode({token}) : std::string("\uFFFD");
              },
          .size = tokenizer->size(),
          .end_of_text = tokenizer->find("<|endoftext|>").value_or(-1),
          .by_words = true,
          .files = {{"vocab.json", content_of(vocab)}, {"merges.txt", content_of(merges)}}};
}

// Python's tokenizers library reads this, too.
std::string json_of(const text::CharTokenizer& tokenizer) {
  std::string out = R"({
  "version": "1.0",
  "truncation": null,
  "padding": null,
  "added_tokens": [],
  "normalizer": null,
  "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": false},
  "post_processor": null,
  "decoder": {"type": "Fuse"},
  "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {)";
  for (std::size_t i = 0; i < tokenizer.characters().size(); ++i)
    out += concat(i == 0 ? "" : ", ", serialize::json_quoted(tokenizer.characters()[i]), ": ", i);
  return out + "}}\n}\n";
}

TextCodec codec_of(const text::CharTokenizer& characters) {
  const auto tokenizer = std::make_shared<const text::CharTokenizer>(characters);
  return {.encode = [tokenizer](const std::string& text) { return tokenizer->encode(text); },
          .decode =
              [tokenizer](int64_t token) {
                return token < tokenizer->size() ? tokenizer->decode({token}) : std::string("\uFFFD");
              },
          .size = tokenizer->size(),
          .files = {{"tokenizer.json", json_of(*tokenizer)}}};
}

// The vocabulary of a file that json_of has written; nullopt if it is one of another kind.
std::optional<text::CharTokenizer> characters_in(const std::string& path) {
  const std::string content = content_of(path);
  std::vector<std::string> characters;
  std::string type;
  serialize::JsonReader reader(content, path, "tokenizer");
  reader.object("repeated entry", [&](const std::string& part) {
    if (part != "model") return reader.skip();
    reader.object("repeated entry", [&](const std::string& entry) {
      if (entry == "type") {
        type = reader.string();
        return;
      }
      if (entry != "vocab" || type != "WordLevel") return reader.skip();
      reader.object("a token occurs twice", [&](const std::string& character) {
        if (reader.integer() != characters.size()) reader.fail_at("the tokens are not in order");
        characters.push_back(character);
      });
    });
  });
  reader.end();
  if (type != "WordLevel") return std::nullopt;
  std::string all;
  for (const std::string& character : characters) all += character;
  text::CharTokenizer out(all);
  check(!all.empty() && out.characters() == characters, path, ": not a tokenizer of characters");
  return out;
}

}  // namespace

TextCodec find_codec(const std::string& folder) {
  const fs::path base(folder);
  std::error_code ignored;
  if (fs::exists(base / "vocab.json", ignored) && fs::exists(base / "merges.txt", ignored))
    return byte_pairs((base / "vocab.json").string(), (base / "merges.txt").string());
  if (!fs::exists(base / "tokenizer.json", ignored)) return {};
  const auto characters = characters_in((base / "tokenizer.json").string());
  return characters ? codec_of(*characters) : TextCodec{};
}

TextCodec codec_of_characters(const std::string& text_file) { return codec_of(text::characters_of_file(text_file)); }

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
