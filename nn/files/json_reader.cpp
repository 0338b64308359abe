// The reader for JSON in files of weights.
#include "tandem/nn/files/json_reader.h"

#include "tandem/core/error.h"

namespace tandem::serialize {
namespace {

void append_utf8(std::string& out, uint32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

// Number of leading ASCII characters that need no unescaping.
std::size_t plain_length(std::string_view text) {
  std::size_t n = 0;
  const auto plain = [](unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; };
  while (n < text.size() && plain(static_cast<unsigned char>(text[n]))) ++n;
  return n;
}

// Length of the UTF-8 sequence at the front of `text`, or 0 if it is invalid.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const std::size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const unsigned lead = byte(0), second = byte(1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F, beyond = lead == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char digits[] = "0123456789abcdef";
      out += "\\u00";
      out += digits[c >> 4];
      out += digits[c & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

void JsonReader::fail_at(const char* problem) const {
  fail(file_, ": invalid ", what_, ": ", problem, " at byte ", at_);
}

void JsonReader::skip_space() {
  while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
}

bool JsonReader::take(char c) {
  skip_space();
  if (at_ == text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

void JsonReader::expect(char c) {
  const std::string problem = concat("expected '", c, "'");
  if (!take(c)) fail_at(problem.c_str());
}

void JsonReader::end() {
  skip_space();
  if (at_ != text_.size()) fail_at("unexpected text");
}

std::string JsonReader::string() {
  expect('"');
  std::string out;
  while (true) {
    if (at_ == text_.size()) fail_at("unterminated string");
    const char c = text_[at_];
    if (c == '"') break;
    if (static_cast<unsigned char>(c) < 0x20) fail_at("control character in a string");
    if (c == '\\') {
      escape(out);
      continue;
    }
    std::size_t length = plain_length(text_.substr(at_));
    if (length == 0) length = utf8_length(text_.substr(at_));
    if (length == 0) fail_at("invalid UTF-8");
    out += text_.substr(at_, length);
    at_ += length;
  }
  ++at_;
  return out;
}

void JsonReader::escape(std::string& out) {
  ++at_;
  if (at_ == text_.size()) fail_at("unterminated string");
  constexpr std::string_view names = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
  const char c = text_[at_];
  if (const auto found = names.find(c); found != std::string_view::npos) {
    out += values[found];
    ++at_;
    return;
  }
  if (c != 'u') fail_at("unknown escape sequence");
  ++at_;
  uint32_t code = four_hex_digits();
  if (code >= 0xDC00 && code < 0xE000) fail_at("unpaired surrogate");
  if (code >= 0xD800 && code < 0xDC00) {
    if (text_.substr(at_, 2) != "\\u") fail_at("unpaired surrogate");
    at_ += 2;
    const uint32_t low = four_hex_digits();
    if (low < 0xDC00 || low >= 0xE000) fail_at("unpaired surrogate");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(out, code);
}

uint32_t JsonReader::four_hex_digits() {
  uint32_t code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    if (at_ == text_.size()) fail_at("unterminated string");
    const char c = text_[at_];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) fail_at("unknown escape sequence");
    code = code << 4 | static_cast<uint32_t>(digit);
  }
  return code;
}

void JsonReader::skip(int levels) {
  if (levels == 0) fail_at("values nested too deep");
  skip_space();
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == '"') {
    string();
  } else if (c == '{') {
    object("duplicate field", [&](const std::string&) { skip(levels - 1); });
  } else if (take('[')) {
    if (take(']')) return;
    do skip(levels - 1);
    while (take(','));
    expect(']');
  } else {
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return;
    }
    skip_number();
  }
}

void JsonReader::skip_number() {
  const auto digits = [this] {
    const std::size_t before = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    if (at_ == before) fail_at("expected a value");
    return text_.substr(before, at_ - before);
  };
  const auto one_of = [this](std::string_view set) {
    const bool found = at_ < text_.size() && set.find(text_[at_]) != std::string_view::npos;
    at_ += found;
    return found;
  };
  one_of("-");
  if (const std::string_view whole = digits(); whole.size() > 1 && whole[0] == '0')
    fail_at("number with a leading zero");
  if (one_of(".")) digits();
  if (one_of("eE")) {
    one_of("+-");
    digits();
  }
}

uint64_t JsonReader::integer() {
  skip_space();
  const auto digit = [this] { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; };
  if (!digit()) fail_at("expected a non-negative integer");
  if (text_[at_] == '0') {
    ++at_;
    if (digit()) fail_at("number with a leading zero");
  }
  uint64_t value = 0;
  for (; digit(); ++at_)
    if (__builtin_mul_overflow(value, uint64_t{10}, &value) ||
        __builtin_add_overflow(value, static_cast<uint64_t>(text_[at_] - '0'), &value))
      fail_at("number too large");
  if (at_ < text_.size() && std::string_view(".eE").find(text_[at_]) != std::string_view::npos)
    fail_at("expected an integer");
  return value;
}

}  // namespace tandem::serialize
