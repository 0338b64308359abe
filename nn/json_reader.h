// A reader of the JSON that safetensors headers are made of: objects, arrays, strings and unsigned integers,
// taken one by one from the front of a text. Strict as RFC 8259; strings must be valid UTF-8.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace tandem::serialize {

class JsonReader {
 public:
  /// Errors name `file`.
  JsonReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  /// Takes the character c, after white space. Throws Error when something else stands there.
  void expect(char c);
  /// Takes c if it comes next.
  bool take(char c);
  std::string string();
  /// Without sign, fraction or exponent, below 2^64.
  uint64_t integer();
  /// A whole object: calls `member(key)` for each member, which takes the value. A key that comes again is an
  /// Error with the text `repeated`.
  template <class Member>
  void object(const char* repeated, const Member& member);
  /// Throws Error unless only white space is left.
  void end();
  [[noreturn]] void fail_at(const char* problem) const;
  std::size_t position() const { return at_; }

 private:
  void skip_space();
  void escape(std::string& out);
  uint32_t four_hex_digits();

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

template <class Member>
void JsonReader::object(const char* repeated, const Member& member) {
  std::unordered_set<std::string> keys;
  expect('{');
  if (take('}')) return;
  do {
    std::string key = string();
    if (!keys.insert(key).second) fail_at(repeated);
    expect(':');
    member(std::move(key));
  } while (take(','));
  expect('}');
}

/// `text` as a JSON string, in quotes.
std::string json_quoted(std::string_view text);
/// Whether `text` is well-formed UTF-8 (no overlong forms, no surrogates).
bool is_utf8(std::string_view text);

}  // namespace tandem::serialize
