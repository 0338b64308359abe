// Formatting of error messages.
#include "tandem/core/error.h"

#include "tandem/core/base/number_text.h"

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
