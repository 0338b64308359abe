// Sets an environment variable for the duration of a scope.
#pragma once
#include <stdlib.h>

#include <optional>
#include <string>

namespace tandem::test {

class Environment {
 public:
  /// nullptr unsets the variable.
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = ::getenv(name)) old_ = old;
    set(value);
  }
  Environment(const char* name, const std::string& value) : Environment(name, value.c_str()) {}
  ~Environment() { set(old_ ? old_->c_str() : nullptr); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const char* value) { value != nullptr ? ::setenv(name_, value, 1) : ::unsetenv(name_); }
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace tandem::test
