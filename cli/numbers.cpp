// Uses std::from_chars, which accepts no octal and no white space, ignores the locale and does not wrap.
#include "tandem/cli/numbers.h"

#include <charconv>
#include <cmath>

namespace tandem::cli::detail {
namespace {

template <class T>
bool read_whole(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  const std::size_t first = text.starts_with("-") ? 1 : 0;
  const bool leading_zero = text.size() > first + 1 && text[first] == '0';  // ambiguous: some read 010 as octal
  return result.ec == std::errc() && result.ptr == end && !leading_zero;
}

}  // namespace

bool read_number(const std::string& text, int64_t& value) { return read_whole(text, value); }
bool read_number(const std::string& text, uint64_t& value) { return read_whole(text, value); }
bool read_number(const std::string& text, double& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end && std::isfinite(value);
}

void refuse_number(const std::string& option, const std::string& text, const char* kind, const std::string& range) {
  const std::string value = text.empty() ? "''" : text.size() <= 40 ? text : text.substr(0, 40) + "...";
  throw UsageError(concat(option, " ", value, ": expected ", kind, " ", range));
}

}  // namespace tandem::cli::detail
