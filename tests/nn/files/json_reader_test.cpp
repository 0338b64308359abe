// The reader for JSON in files of weights: what it accepts, and where it says that it does not.
#include "tandem/nn/files/json_reader.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "tandem/tests/temp_folder.h"

using namespace tandem;
using serialize::is_utf8;
using serialize::JsonReader;

namespace {

const std::string kFile = "f";

// What a function reads from all of a text, or the end of its error, "PROBLEM at byte N".
template <class Read>
std::string outcome(const std::string& text, const Read& read) {
  std::string value;
  const std::string error = test::error_of([&] {
    JsonReader in(text, kFile, "t");
    value = read(in);
    in.end();
  });
  const std::string start = "f: invalid t: ";
  if (error.empty()) return value;
  CHECK(error.starts_with(start));
  return error.substr(start.size());
}
std::string string_in(const std::string& text) {
  return outcome('"' + text, [](JsonReader& in) { return in.string(); });
}
std::string integer_in(const std::string& text) {
  return outcome(text, [](JsonReader& in) { return std::to_string(in.integer()); });
}
// "" if the value is skipped.
std::string skipped(const std::string& text) {
  return outcome(text, [](JsonReader& in) {
    in.skip();
    return std::string();
  });
}

using Table = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("well-formed UTF-8, at the ends of its ranges") {
  for (const char* good :
       {"", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xe0\xbf\xbf", "\xe1\x80\x80", "\xec\xbf\xbf",
        "\xed\x80\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf0\xbf\xbf\xbf",
        "\xf1\x80\x80\x80", "\xf3\xbf\xbf\xbf", "\xf4\x80\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc2\x80z"}) {
    CAPTURE(good);
    CHECK(is_utf8(good));
    CHECK(string_in(std::string(good) + '"') == good);
  }
  for (const char* bad : {"\x80",
                          "\xbf",
                          "\xc0\x80",
                          "\xc1\xbf",
                          "\xc2",
                          "\xc2\x7f",
                          "\xc2\xc0",
                          "\xdf",
                          "\xe0\x80\x80",
                          "\xe0\x9f\xbf",
                          "\xe0\xa0",
                          "\xe1\x80",
                          "\xe1\x7f\x80",
                          "\xe1\x80\x7f",
                          "\xe1\x80\xc0",
                          "\xed\xa0\x80",
                          "\xed\xbf\xbf",
                          "\xf0\x80\x80\x80",
                          "\xf0\x8f\xbf\xbf",
                          "\xf0\x90\x80",
                          "\xf0\x90\x80\x7f",
                          "\xf0\x90\x7f\x80",
                          "\xf0\x90\x80\xc0",
                          "\xf4\x90\x80\x80",
                          "\xf4\xbf\xbf\xbf",
                          "\xf5\x80\x80\x80",
                          "\xff",
                          "a\x80",
                          "\xc2\x80\x80"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_utf8(bad));
    CHECK(string_in(std::string(bad) + '"').starts_with("invalid UTF-8 at byte "));
  }
}

TEST_CASE("strings: escapes, and what ends them") {
  const Table table = {
      {"a b~\x7f\"", "a b~\x7f"},
      {"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
      {"\\u0001\\u007f\\u0080\\u07FF\\u0800\\ud7ff\\uE000\\uffff\"",
       "\x01\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"},
      {"\\ud800\\udc00\\uDBFF\\uDFFF\\ud83c\\udfff\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xf0\x9f\x8f\xbf"},
      {"\\u09af\\u9AF0\"", "\xe0\xa6\xaf\xe9\xab\xb0"},
      {"abc", "unterminated string at byte 4"},
      {"", "unterminated string at byte 1"},
      {"a\\", "unterminated string at byte 3"},
      {"\\u", "unterminated string at byte 3"},
      {"\\u12", "unterminated string at byte 5"},
      {"\\x\"", "unknown escape sequence at byte 2"},
      {"\\u12g4\"", "unknown escape sequence at byte 5"},
      {"\\u/000\"", "unknown escape sequence at byte 3"},
      {"\\u:000\"", "unknown escape sequence at byte 3"},
      {"\\u@000\"", "unknown escape sequence at byte 3"},
      {"\\uG000\"", "unknown escape sequence at byte 3"},
      {"\\u`000\"", "unknown escape sequence at byte 3"},
      {"\\udc00\"", "unpaired surrogate at byte 7"},
      {"\\udfff\"", "unpaired surrogate at byte 7"},
      {"\\ud800\"", "unpaired surrogate at byte 7"},
      {"\\ud800\\n\"", "unpaired surrogate at byte 7"},
      {"\\ud800/udc00\"", "unpaired surrogate at byte 7"},
      {"\\ud800\\u0041\"", "unpaired surrogate at byte 13"},
      {"\\ud800\\udbff\"", "unpaired surrogate at byte 13"},
      {"\\udbff\\ue000\"", "unpaired surrogate at byte 13"},
      {"\x1f\"", "control character in a string at byte 1"},
      {"a\x1f\"", "control character in a string at byte 2"},
      {"a\x01\"", "control character in a string at byte 2"},
      {"a\nb\"", "control character in a string at byte 2"},
      {"a\"b", "unexpected text at byte 3"},
  };
  for (const auto& row : table) {
    const std::string text = row.first;
    CAPTURE(text);
    CHECK(string_in(text) == row.second);
  }
  CHECK(serialize::json_quoted("a\"\\\x01\x0f\x10\x1f \x7f\xc2\x80") ==
        "\"a\\\"\\\\\\u0001\\u000f\\u0010\\u001f \x7f\xc2\x80\"");
  CHECK(outcome(" \t\r\n\"a\" \t\r\n", [](JsonReader& in) { return in.string(); }) == "a");
  CHECK(outcome("a", [](JsonReader& in) { return in.string(); }) == "expected '\"' at byte 0");
}

TEST_CASE("integers of 64 bits, and no other numbers") {
  const Table table = {{"0", "0"},
                       {" 7 ", "7"},
                       {"18446744073709551615", "18446744073709551615"},
                       {"18446744073709551616", "number too large at byte 19"},
                       {"99999999999999999999", "number too large at byte 19"},
                       {"184467440737095516150", "number too large at byte 20"},
                       {"", "expected a non-negative integer at byte 0"},
                       {"-1", "expected a non-negative integer at byte 0"},
                       {"/", "expected a non-negative integer at byte 0"},
                       {":", "expected a non-negative integer at byte 0"},
                       {"00", "number with a leading zero at byte 1"},
                       {"07", "number with a leading zero at byte 1"},
                       {"1.0", "expected an integer at byte 1"},
                       {"1e3", "expected an integer at byte 1"},
                       {"0E3", "expected an integer at byte 1"},
                       {"1 2", "unexpected text at byte 2"}};
  for (const auto& row : table) {
    const std::string text = row.first;
    CAPTURE(text);
    CHECK(integer_in(text) == row.second);
  }
}

TEST_CASE("values that are skipped must be JSON, nested no more than 64 levels deep") {
  for (const char* good : {"0", "-0.5e+10", "12E-3", "1e5", "true", " false", "null", "\"a\"", "[]", "[ ]",
                           "[1,[2, {}],\"x\"]", "{\"a\":[true],\"b\":{\"c\":null}}"}) {
    CAPTURE(good);
    CHECK(skipped(good).empty());
  }
  const Table table = {{"", "expected a value at byte 0"},
                       {"-", "expected a value at byte 1"},
                       {"01", "number with a leading zero at byte 2"},
                       {"1.", "expected a value at byte 2"},
                       {".5", "expected a value at byte 0"},
                       {"1e", "expected a value at byte 2"},
                       {"1e+", "expected a value at byte 3"},
                       {"1e5e", "unexpected text at byte 3"},
                       {"nul", "expected a value at byte 0"},
                       {"[1 2]", "expected ']' at byte 3"},
                       {"[1,]", "expected a value at byte 3"},
                       {"[", "expected a value at byte 1"},
                       {"{\"a\" 1}", "expected ':' at byte 5"},
                       {"{\"a\":1,\"a\":2}", "duplicate field at byte 10"},
                       {"{\"a\":1", "expected '}' at byte 6"},
                       {"truefalse", "unexpected text at byte 4"}};
  for (const auto& row : table) {
    const std::string text = row.first;
    CAPTURE(text);
    CHECK(skipped(text) == row.second);
  }
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    const auto nested = [open = open, close = close](int levels) {
      std::string out = "1";
      for (int i = 0; i < levels; ++i) out = open + out + close;
      return skipped(out);
    };
    CHECK(nested(63).empty());
    CHECK(nested(64).starts_with("values nested too deep at byte "));
  }
}
