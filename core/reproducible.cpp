#include "tandem/core/reproducible.h"

#include <cstdlib>
#include <string>

#include "tandem/core/error.h"

namespace tandem {
namespace {

Reproducible read() {
  const char* value = std::getenv("TANDEM_REPRODUCIBLE");
  const std::string text = value == nullptr ? "" : value;
  if (text == "on") return Reproducible::kOn;
  if (text == "strict") return Reproducible::kStrict;
  check(text.empty() || text == "off", "TANDEM_REPRODUCIBLE=", text, ": expected off, on or strict");
  return Reproducible::kOff;
}

}  // namespace

Reproducible reproducible() {
  static const Reproducible value = read();
  return value;
}

void check_reproducible(const char* operation, const char* reason) {
  check(reproducible() != Reproducible::kStrict, operation, ": ", reason, ", which TANDEM_REPRODUCIBLE=strict refuses");
}

}  // namespace tandem
