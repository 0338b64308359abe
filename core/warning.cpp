// Warnings and their handler.
#include "tandem/core/warning.h"

#include <atomic>
#include <cstdio>

namespace tandem {
namespace {

WarningHandler* default_handler() {
  static auto* const handler = new WarningHandler;  // never destroyed: other objects' destructors may warn
  return handler;
}
std::atomic<WarningHandler*> current{nullptr};
std::atomic<bool> always{false};

}  // namespace

void WarningHandler::process(const Warning& warning) {
  const char* from = *warning.source_location().file == '\0' ? "tandem: warning: " : "Warning: ";
  std::fputs((from + warning.msg() + '\n').c_str(), stderr);
}

void warn(const Warning& warning) { WarningUtils::get_warning_handler()->process(warning); }
void warn(std::string msg) { warn(Warning(UserWarning(), {"", "", 0}, std::move(msg), false)); }

namespace WarningUtils {

void set_warning_handler(WarningHandler* handler) noexcept { current = handler; }
WarningHandler* get_warning_handler() noexcept {
  WarningHandler* handler = current;
  return handler != nullptr ? handler : default_handler();
}
void set_warnAlways(bool setting) noexcept { always = setting; }
bool get_warnAlways() noexcept { return always; }

}  // namespace WarningUtils
}  // namespace tandem
