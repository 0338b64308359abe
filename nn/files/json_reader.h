// A reader for JSON in files of weights: objects, arrays, strings and unsigned integers; other values can be skipped.
// Values are consumed one by one from the front of the text. Strict as RFC 8259; strings must be valid UTF-8.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace tandem::serialize {

class JsonReader {
 public:
  /// Error messages name `file` and call the text `what`, which must be a literal.
  JsonReader(std::string_view text, const std::string& file, const char* what = "safetensors header")
      : text_(text), file_(file), what_(what) {}

  /// Consumes the character c after white space. Throws Error when anything else follows.
  void expect(char c);
  /// Consumes c if it comes next and returns whether it did.
  bool take(char c);
  std::string string();
  /// An integer without sign, fraction or exponent, below 2^64.
  uint64_t integer();
  /// Reads an object: calls `member(key)` for each member, which must consume the value. A repeated key
  /// throws Error with the text `repeated`.
  template <class Member>
  void object(const char* repeated, const Member& member);
  /// Consumes a value of any kind. Throws Error when arrays and objects are nested more than 64 levels deep.
  void skip() { skip(64); }
  /// Throws Error unless only white space remains.
  void end();
  [[noreturn]] void fail_at(const char* problem) const;

 private:
  void skip(int levels);
  void skip_number();
  void skip_space();
  void escape(std::string& out);
  uint32_t four_hex_digits();

  std::string_view text_;
  const std::string& file_;
  const char* what_;
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

/// `text` as a quoted JSON string.
std::string json_quoted(std::string_view text);
/// Whether `text` is well-formed UTF-8 (no overlong forms, no surrogates).
bool is_utf8(std::string_view text);

}  // namespace tandem::serialize
