// The standard defines std::to_chars with a precision by printf's output in the C locale.
#include "tandem/core/base/number_text.h"

#include <charconv>

namespace tandem {

std::string number_text(double value, char style, int precision, int width) {
  const auto format = style == 'e'   ? std::chars_format::scientific
                      : style == 'f' ? std::chars_format::fixed
                                     : std::chars_format::general;
  std::string text(64, '\0');
  std::to_chars_result result{};
  while (true) {
    result = std::to_chars(text.data(), text.data() + text.size(), value, format, precision);
    if (result.ec == std::errc()) break;
    text.resize(2 * text.size());
  }
  text.resize(static_cast<std::size_t>(result.ptr - text.data()));
  if (const auto least = static_cast<std::size_t>(width); width > 0 && text.size() < least)
    text.insert(0, least - text.size(), ' ');
  return text;
}

}  // namespace tandem
