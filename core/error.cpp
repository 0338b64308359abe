// Errors: their places and the formatting of their messages.
#include "tandem/core/error.h"

#include <utility>

#include "tandem/core/base/number_text.h"

namespace tandem {

std::string ErrorPlace::text() const {
  if (root.empty()) return outside;
  return outside + "in " + root + (path.empty() ? "" : "." + path) + ": ";
}

const ErrorPlace& Error::place() const noexcept {
  static const ErrorPlace unknown;
  return located_ ? located_->place : unknown;
}

void Error::set_place(ErrorPlace place) {
  std::string what = place.text() + std::runtime_error::what();
  located_ = std::make_shared<const Located>(Located{std::move(place), std::move(what)});
}

}  // namespace tandem

namespace tandem::detail {

void append(std::string& out, std::string_view text) { out.append(text); }

void append(std::string& out, double value) { out += number_text(value, 'g', 9); }

void append(std::string& out, long long value) { out.append(std::to_string(value)); }
void append(std::string& out, unsigned long long value) { out.append(std::to_string(value)); }

void append(std::string& out, IntArrayRef sizes) {
  out.push_back('[');
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i != 0) out.append(", ");
    out.append(std::to_string(sizes[i]));
  }
  out.push_back(']');
}

void not_an_element(std::size_t index, std::size_t size) {
  throw IndexError(concat("no element ", index, " in an array of ", size));
}

}  // namespace tandem::detail
