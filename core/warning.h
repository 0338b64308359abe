// Warnings, and the program's handler of them (LibTorch's c10::Warning, c10::WarningHandler).
#pragma once
#include <atomic>
#include <string>
#include <utility>
#include <variant>

#include "tandem/core/error.h"

namespace tandem {

class Warning {
 public:
  class UserWarning {};
  class DeprecationWarning {};
  using warning_variant_t = std::variant<UserWarning, DeprecationWarning>;

  Warning(warning_variant_t type, const SourceLocation& location, std::string msg, bool verbatim)
      : type_(type), location_(location), msg_(std::move(msg)), verbatim_(verbatim) {}

  warning_variant_t type() const { return type_; }
  /// Where a program's TORCH_WARN is; empty for Tandem's own warnings.
  const SourceLocation& source_location() const { return location_; }
  const std::string& msg() const { return msg_; }
  bool verbatim() const { return verbatim_; }

 private:
  warning_variant_t type_;
  SourceLocation location_;
  std::string msg_;
  bool verbatim_;
};
using UserWarning = Warning::UserWarning;
using DeprecationWarning = Warning::DeprecationWarning;

class WarningHandler {
 public:
  virtual ~WarningHandler() = default;
  /// Called in the thread that warns, possibly in several at once. Writes a line to standard error.
  virtual void process(const Warning& warning);
};

/// Passes the warning to the program's handler.
void warn(const Warning& warning);
/// A warning of Tandem itself.
void warn(std::string msg);

namespace WarningUtils {

/// Threads that warn from now on call `handler`, which has to live until another one is set. Null: the default one.
void set_warning_handler(WarningHandler* handler) noexcept;
WarningHandler* get_warning_handler() noexcept;
/// Whether TORCH_WARN_ONCE, and Tandem's own warnings that are printed once, are repeated.
void set_warnAlways(bool setting) noexcept;
bool get_warnAlways() noexcept;

/// Whether a warning that is printed once is printed now: the first time that it is called with `said`, and always under
/// set_warnAlways(true).
inline bool is_due(std::atomic_flag& said) noexcept { return !said.test_and_set() || get_warnAlways(); }

class WarningHandlerGuard {
 public:
  explicit WarningHandlerGuard(WarningHandler* handler) : previous_(get_warning_handler()) {
    set_warning_handler(handler);
  }
  ~WarningHandlerGuard() { set_warning_handler(previous_); }
  WarningHandlerGuard(const WarningHandlerGuard&) = delete;
  WarningHandlerGuard& operator=(const WarningHandlerGuard&) = delete;

 private:
  WarningHandler* previous_;
};

class WarnAlways {
 public:
  explicit WarnAlways(bool setting = true) : previous_(get_warnAlways()) { set_warnAlways(setting); }
  ~WarnAlways() { set_warnAlways(previous_); }
  WarnAlways(const WarnAlways&) = delete;
  WarnAlways& operator=(const WarnAlways&) = delete;

 private:
  bool previous_;
};

}  // namespace WarningUtils
}  // namespace tandem
