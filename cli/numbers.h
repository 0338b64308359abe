// Strict parsing of numbers on the command line.
#pragma once
#include <string>
#include <type_traits>

#include "tandem/cli/options.h"

namespace tandem::cli {

/// The values that an option accepts, both ends included; `open` excludes `low`.
template <class T>
struct Range {
  T low, high;
  bool open = false;
};

namespace detail {
/// Reads a whole decimal number with an optional '-'; returns false if `text` is not one or does not fit.
bool read_number(const std::string& text, int64_t& value);
bool read_number(const std::string& text, uint64_t& value);
/// The same for finite numbers, which may have a fraction or an exponent.
bool read_number(const std::string& text, double& value);
[[noreturn]] void refuse_number(const std::string& option, const std::string& text, const char* kind,
                                const std::string& range);
}  // namespace detail

/// Parses an option's value. Throws UsageError that names the option, its value and the range.
template <class T>
T parse_number(const std::string& option, const std::string& text, const Range<T>& range) {
  using Wide = std::conditional_t<std::is_same_v<T, int>, int64_t, T>;
  Wide value{};
  const bool good = detail::read_number(text, value) && !(value < static_cast<Wide>(range.low)) &&
                    !(value > static_cast<Wide>(range.high)) && !(range.open && value == static_cast<Wide>(range.low));
  if (!good)
    detail::refuse_number(
        option, text, std::is_floating_point_v<T> ? "a number" : "a whole number",
        concat(range.open ? "above " : "from ", range.low, range.open ? ", at most " : " to ", range.high));
  return static_cast<T>(value);
}

}  // namespace tandem::cli
