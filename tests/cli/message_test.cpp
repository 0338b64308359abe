// Error messages and numbers of the command line.
#include "tandem/cli/message.h"

#include <doctest/doctest.h>

#include "tandem/cli/numbers.h"
#include "tandem/tests/temp_folder.h"

using namespace tandem;
using namespace tandem::cli;
using tandem::test::error_of;

namespace {

template <class T>
std::string refusal(const std::string& text, const Range<T>& range) {
  return error_of([&] { parse_number("--x", text, range); });
}

}  // namespace

TEST_CASE("indented lines are joined into one") {
  CHECK(one_line("a") == "a");
  CHECK(one_line("a\n  b\n  c\n") == "a; b; c");
  CHECK(one_line("a?\n  b") == "a? b");
  CHECK(one_line("none\n  looked in\n    /a\n    /b\n  ways\n    1. c") == "none; looked in: /a, /b; ways: 1. c");
  CHECK(one_line("missing:\n    a\n    b:\n    c\n  unexpected:\n    d") == "missing: a, b:, c; unexpected: d");
}

TEST_CASE("a line that is too long loses its least important parts") {
  const std::vector<LinePart> parts{{"epoch 1"}, {"  loss 2.5", 1}, {"  accuracy 0.5"}, {"  7 s", 2}, {"  9/s", 3}};
  CHECK(fitted(parts, 0) == "epoch 1  loss 2.5  accuracy 0.5  7 s  9/s");
  CHECK(fitted(parts, 41) == "epoch 1  loss 2.5  accuracy 0.5  7 s  9/s");
  CHECK(fitted(parts, 40) == "epoch 1  loss 2.5  accuracy 0.5  7 s");
  CHECK(fitted(parts, 32) == "epoch 1  loss 2.5  accuracy 0.5");
  CHECK(fitted(parts, 30) == "epoch 1  accuracy 0.5");
  CHECK(display_width(fitted(parts, 12)) <= 12);
}

TEST_CASE("words are joined") {
  CHECK(join({}, ", ") == "");
  CHECK(join({"", "a", "b"}, ", ") == ", a, b");
}

TEST_CASE("long lines break between words") {
  CHECK(wrapped("one two three four five six", 20) == "one two three four\n  five six");
  CHECK(wrapped("one two three four five six", 20, 4) == "one two three four\n    five six");
  CHECK(wrapped("short", 20) == "short");
  const std::string word(50, 'x');
  CHECK(wrapped("a " + word + " b", 20) == "a\n  " + word + "\n  b");
  CHECK(wrapped("one two three four five six", 5) == "one two three four five six");
}

TEST_CASE("numbers are decimal, whole where they must be, and in range") {
  const Range<uint64_t> seeds{0, UINT64_MAX};
  CHECK(parse_number("--x", "18446744073709551615", seeds) == UINT64_MAX);
  CHECK(parse_number("--x", "0", seeds) == 0);
  for (const char* text : {"-1", "010", "00", "18446744073709551616", "+1", " 1", "1 ", "", "0x10", "1e3", "1.0"})
    CHECK_MESSAGE(
        refusal(text, seeds).find("expected a whole number from 0 to 18446744073709551615") != std::string::npos, text);
  CHECK(parse_number("--x", "-5", Range<int64_t>{-5, 5}) == -5);
  CHECK(refusal("5000", Range<int>{0, 4096}) == "--x 5000: expected a whole number from 0 to 4096");
  CHECK(refusal("4294967297", Range<int>{0, 4096}) != "");
  CHECK(refusal("-010", Range<int64_t>{-50, 5}) != "");
}

TEST_CASE("names are quoted for a shell where that is necessary") {
  CHECK(quoted_for_shell("runs/lenet-1") == "runs/lenet-1");
  CHECK(quoted_for_shell("a b") == "'a b'");
  CHECK(quoted_for_shell("it's") == "'it'\\''s'");
  CHECK(quoted_for_shell("") == "''");
}

TEST_CASE("numbers with a fraction are finite") {
  const Range<double> rates{0, 1e6, true};
  CHECK(parse_number("--x", "0.25", rates) == 0.25);
  CHECK(parse_number("--x", "1e-3", rates) == 1e-3);
  for (const char* text : {"0", "-1", "inf", "nan", "1e999", "0,5", "1e7", "0.1x"})
    CHECK_MESSAGE(refusal(text, rates).ends_with("expected a number above 0, at most 1000000"), text);
  CHECK(refusal(std::string(5000, '9'), rates).size() < 120);
}
