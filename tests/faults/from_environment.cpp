// For a whole program: arms before main() what TANDEM_FAULT="KIND N FILE" says. At the end FILE says how many calls there
// were, and whether the Nth has failed. Programs that this one starts are not armed.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tandem/tests/faults/faults.h"

namespace tandem::faults {
namespace {

std::string& report_file() {
  static auto* const path = new std::string;  // outlives the static objects
  return *path;
}

[[gnu::constructor]] void arm_from_environment() {
  const char* const text = std::getenv("TANDEM_FAULT");
  if (text == nullptr) return;
  std::istringstream words(text);
  std::string kind;
  int64_t nth = 0;
  words >> kind >> nth >> report_file();
  unsetenv("TANDEM_FAULT");
  for (int i = 0; i < kKinds; ++i)
    if (kind == kKindNames[i]) arm(static_cast<Kind>(i), nth);
}

[[gnu::destructor]] void report() {
  const Outcome outcome = disarm();
  if (!report_file().empty()) std::ofstream(report_file()) << outcome.calls << ' ' << outcome.fired << '\n';
}

}  // namespace
}  // namespace tandem::faults
