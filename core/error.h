// The base exception type, and checks that format their message only on failure.
//
//   check(a == b, "mm: inner sizes differ: ", a, " and ", b);
#pragma once
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tandem/core/base/array_ref.h"

namespace tandem {

/// A place in a source file, as LibTorch's errors name it.
struct SourceLocation {
  const char* function;
  const char* file;
  uint32_t line;
};

/// The place where an error was thrown, with which its message begins: "replica 1 on cuda:1: in Net.layer1.0: ".
struct ErrorPlace {
  std::string outside;               // such as "replica 1 on cuda:1: "
  std::string root, path;            // of the module: the type "Net" and the names "layer1.0" from there; or empty
  std::vector<const void*> modules;  // on the path, innermost first: only for comparisons
  /// "replica 1 on cuda:1: in Net.layer1.0: "
  std::string text() const;
};

/// Thrown by every function of the library on a wrong argument, an invalid file or a failing backend.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  // LibTorch's further parameters, which have no effect: messages have no backtrace.
  Error(const std::string& message, const std::string&, const void* = nullptr) : Error(message) {}
  Error(const std::string& message, std::nullptr_t, const void* = nullptr) : Error(message) {}
  /// The message does not name the location.
  Error(const SourceLocation&, const std::string& message) : std::runtime_error(message) {}

  /// The message, after the place where the error was thrown.
  const char* what() const noexcept override { return located_ ? located_->what.c_str() : std::runtime_error::what(); }
  const ErrorPlace& place() const noexcept;
  /// Names another place, in this object and no copy of it. The type stays.
  void set_place(ErrorPlace place);
  /// Whether several threads may throw this same object, which then keeps its place.
  virtual bool is_shared() const noexcept { return false; }

  // LibTorch's names for the parts of a message, of which there is only the message itself.
  std::string msg() const { return what(); }
  const char* what_without_backtrace() const noexcept { return what(); }
  std::string backtrace() const { return {}; }

 private:
  struct Located {
    ErrorPlace place;
    std::string what;
  };
  std::shared_ptr<const Located> located_;
};

/// An index is out of range (LibTorch's c10::IndexError).
class IndexError : public Error {
  using Error::Error;
};

/// An argument has a wrong value (LibTorch's c10::ValueError).
class ValueError : public Error {
  using Error::Error;
};

/// An argument has a wrong type (LibTorch's c10::TypeError).
class TypeError : public Error {
  using Error::Error;
};

/// A decomposition failed, for instance of a singular matrix (LibTorch's c10::LinAlgError).
class LinAlgError : public Error {
  using Error::Error;
};

/// A device has not enough memory, or none left that this process may use (LibTorch's c10::OutOfMemoryError).
class OutOfMemoryError : public Error {
  using Error::Error;
};

/// A valid request that this build or backend does not support (LibTorch's c10::NotImplementedError).
class NotImplementedError : public Error {
  using Error::Error;
};

namespace detail {
void append(std::string& out, std::string_view text);
void append(std::string& out, double value);
void append(std::string& out, long long value);
void append(std::string& out, unsigned long long value);
void append(std::string& out, IntArrayRef sizes);
inline void append(std::string& out, const char* text) { append(out, std::string_view(text)); }
inline void append(std::string& out, const std::string& text) { append(out, std::string_view(text)); }
inline void append(std::string& out, const std::vector<int64_t>& sizes) { append(out, IntArrayRef(sizes)); }
inline void append(std::string& out, bool value) { append(out, std::string_view(value ? "true" : "false")); }
inline void append(std::string& out, char value) { out.push_back(value); }
template <class T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>) void append(std::string& out,
                                                                                                    T value) {
  if constexpr (std::is_signed_v<T>)
    append(out, static_cast<long long>(value));
  else
    append(out, static_cast<unsigned long long>(value));
}
}  // namespace detail

// These names are too common to be found by argument-dependent lookup: a program's own check(tensor) would be
// ambiguous. It ignores using-directives, whereas code in namespace tandem finds the names through this one.
namespace messages {}
using namespace messages;

namespace messages {

/// The concatenated text of all arguments. A type provides `append(std::string&, const T&)`, found by ADL.
template <class... Parts>
std::string concat(const Parts&... parts) {
  using detail::append;
  std::string out;
  (append(out, parts), ...);
  return out;
}

/// Throws Error with the concatenated text.
template <class... Parts>
[[noreturn]] __attribute__((noinline, cold)) void fail(const Parts&... parts) {
  throw Error(concat(parts...));
}

/// Throws Error with the concatenated text unless `ok`.
template <class... Parts>
inline void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail(parts...);
}

/// Throws IndexError with the concatenated text unless `ok`.
template <class... Parts>
inline void check_index(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    throw IndexError(concat(parts...));
}

}  // namespace messages

}  // namespace tandem
