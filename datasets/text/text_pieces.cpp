// Reading texts in pieces.
#include "tandem/datasets/text/text_pieces.h"

#include <algorithm>
#include <cstring>

#include "tandem/core/error.h"
#include "tandem/datasets/gz_input.h"
#include "tandem/datasets/text/characters.h"

namespace tandem::text {

struct TextPieces::State {
  data::GzInput input;
  const Cut cut;
  const std::size_t bytes;
  std::string raw{};       // read, but not checked: less than a character, or '\r'
  std::string text{};      // checked, but not returned
  std::size_t cut_at = 0;  // the last place in it where a piece may end; 0: none
  int64_t line = 1;
  bool at_start = true, ended = false, after_space = true;

  State(const std::string& path, Cut where, std::size_t count)
      : input(path), cut(where), bytes(std::max<std::size_t>(count, 16)) {
    check(!input.is_gzip(), path, ": a gzip file; decompress it first");
  }
  void read();
  void add(const detail::Character& character, std::size_t at);
};

// Checks about `bytes` further bytes.
void TextPieces::State::read() {
  const std::size_t before = raw.size();
  raw.resize(before + bytes);
  const std::size_t count = input.read(raw.data() + before, bytes);
  ended = count < bytes;
  raw.resize(before + count);
  std::size_t at = at_start && raw.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  at_start = false;
  while (at < raw.size() && (ended || raw.size() - at >= 4)) {
    const detail::Character character = detail::character_at(raw, at);
    const bool before_newline = character.code == '\r' && at + 1 < raw.size() && raw[at + 1] == '\n';
    if (!before_newline) add(character, at);
    at += character.bytes;
  }
  raw.erase(0, at);
}

void TextPieces::State::add(const detail::Character& character, std::size_t at) {
  check(character.code != 0, input.name(), ":", line,
        ": has a NUL byte, so this is no text in UTF-8 (if it is in UTF-16, convert it)");
  check(character.code < detail::kLooseByte, input.name(), ":", line,
        ": is not UTF-8; convert the file, such as with iconv -f latin1 -t utf-8");
  const bool space = detail::class_of(character.code) == detail::CharacterClass::kSpace;
  if (cut == Cut::kWord && space && !after_space) cut_at = text.size();
  text.append(raw, at, character.bytes);
  if (cut == Cut::kCharacter) cut_at = text.size();
  after_space = space;
  line += character.code == '\n' ? 1 : 0;
}

TextPieces::TextPieces(const std::string& path, Cut cut, std::size_t bytes)
    : state_(std::make_unique<State>(path, cut, bytes)) {}
TextPieces::~TextPieces() = default;

std::optional<std::string> TextPieces::next() {
  State& s = *state_;
  while (!s.ended && s.cut_at == 0) s.read();
  if (s.ended) s.cut_at = s.text.size();
  if (s.cut_at == 0) return std::nullopt;
  std::string piece = s.text.substr(0, s.cut_at);
  s.text.erase(0, s.cut_at);
  s.cut_at = 0;
  return piece;
}

CharTokenizer characters_of_file(const std::string& path) {
  std::vector<bool> found(0x110000);
  std::string all;
  TextPieces pieces(path, Cut::kCharacter);
  while (const auto piece = pieces.next())
    for (std::size_t at = 0; at < piece->size();) {
      const detail::Character character = detail::character_at(*piece, at);
      if (!found[character.code]) all.append(*piece, at, character.bytes);
      found[character.code] = true;
      at += character.bytes;
    }
  return CharTokenizer(all);
}

namespace {

template <class T>
Tensor values_of(const std::vector<int64_t>& tokens, ScalarType dtype, int64_t size) {
  Tensor out = empty_raw({static_cast<int64_t>(tokens.size())}, dtype, Device(kCPU, 0));
  std::transform(tokens.begin(), tokens.end(), out.data_ptr<T>(), [size](int64_t token) {
    check(token >= 0 && token < size, "encode_pieces: token ", token, ", expected 0 to ", size - 1);
    return static_cast<T>(token);
  });
  return out;
}

}  // namespace

Tensor encode_pieces(const std::string& path, Cut cut, int64_t size,
                     const std::function<std::vector<int64_t>(const std::string& piece)>& encode) {
  std::vector<Tensor> parts;
  TextPieces pieces(path, cut);
  while (const auto piece = pieces.next()) {
    const std::vector<int64_t> tokens = encode(*piece);
    parts.push_back(size <= 256     ? values_of<uint8_t>(tokens, kByte, size)
                    : size <= 32768 ? values_of<int16_t>(tokens, kShort, size)
                                    : values_of<int32_t>(tokens, kInt, size));
  }
  if (parts.empty()) return values_of<uint8_t>({}, kByte, size);
  if (parts.size() == 1) return parts[0];
  int64_t count = 0;
  for (const Tensor& part : parts) count += part.numel();
  Tensor out = empty_raw({count}, parts[0].dtype(), Device(kCPU, 0));
  auto* to = static_cast<std::byte*>(out.data_ptr());
  for (Tensor& part : parts) {
    std::memcpy(to, part.const_data_ptr(), part.nbytes());
    to += part.nbytes();
    part = Tensor();
  }
  return out;
}

}  // namespace tandem::text
