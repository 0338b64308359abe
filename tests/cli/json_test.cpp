// JSON from untrusted files: what is refused, and the messages.
#include "tandem/cli/json.h"

#include <doctest/doctest.h>

#include <string>

using namespace tandem;
using namespace tandem::cli;

namespace {

std::string refusal_of(const std::string& text) {
  try {
    parse_json(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("invalid JSON is an Error with the place and the reason") {
  CHECK(refusal_of(R"({"a": [1, "]", 2]})") == "accepted");
  const std::string comma = refusal_of("{\n  \"a\": 1,\n}");
  CHECK(comma.starts_with("invalid JSON: parse error at line 3, column 1: "));
  CHECK(comma.find("unexpected '}'") != std::string::npos);
  CHECK(refusal_of("").starts_with("invalid JSON: parse error at line 1, column 1: "));
  CHECK(refusal_of("[1, 2").starts_with("invalid JSON: parse error at line 1, column 6: "));
  CHECK(refusal_of("\"\xff\"").find("invalid string") != std::string::npos);
  CHECK(refusal_of("1e999") == "invalid JSON: number overflow parsing '1e999'");
}

TEST_CASE("nesting deeper than the limit is an Error") {
  CHECK(refusal_of(std::string(64, '[') + std::string(64, ']')) == "accepted");
  CHECK(refusal_of(std::string(65, '[') + std::string(65, ']')) == "JSON nested deeper than 64");
  CHECK(refusal_of("\"" + std::string(100, '[') + "\"") == "accepted");
}

TEST_CASE("an entry that is missing or has another type is an Error") {
  const auto json = parse_json(R"({"name": 3, "count": -1})");
  CHECK_THROWS_WITH_AS(get_entry<int>(json, "size"), "missing entry \"size\"", Error);
  CHECK_THROWS_WITH_AS(get_entry<std::string>(json, "name"), "entry \"name\": type must be string, but is number",
                       Error);
  CHECK_THROWS_WITH_AS(get_entry<unsigned>(json, "count"), "entry \"count\": expected a non-negative whole number",
                       Error);
}
