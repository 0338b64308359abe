// LibTorch's checks, warnings and errors by kind.
#pragma once
#include <atomic>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "tandem/core/error.h"
#include "tandem/core/warning.h"
#include "torch/detail/macros.h"

namespace tandem::compat {

/// `expected` is the message when no parts are given.
template <class... Parts>
std::string message(const char* expected, const Parts&... parts) {
  std::ostringstream text;
  if constexpr (sizeof...(Parts) == 0)
    text << expected;
  else
    (text << ... << parts);
  return text.str();
}
template <class Kind = Error, class... Parts>
[[noreturn]] void fail(const char* expected, const Parts&... parts) {
  throw Kind(message(expected, parts...));
}
template <class Kind = UserWarning, class... Parts>
void warn(const SourceLocation& location, const Parts&... parts) {
  std::ostringstream text;
  (static_cast<void>(text << parts), ...);
  tandem::warn(Warning(Kind(), location, text.str(), false));
}

/// Throws Error at the end of the statement, with what has been written to stream().
class FailedCheck {
 public:
  FailedCheck() = default;
  FailedCheck(const FailedCheck&) = delete;
  FailedCheck& operator=(const FailedCheck&) = delete;
  ~FailedCheck() noexcept(false) { throw Error(text_.str()); }
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};
template <class Pointer>
Pointer&& not_null(Pointer&& pointer, const char* text) {
  if (pointer == nullptr) fail("", "Expected ", text, " not to be null");
  return std::forward<Pointer>(pointer);
}
/// Makes a stream the void operand of ?:.
struct Discard {
  void operator&(const std::ostream&) const {}
};

}  // namespace tandem::compat

// Kinds of errors that Tandem itself does not throw.
namespace c10 {
#define TANDEM_COMPAT_ERROR(Name) \
  struct Name : ::tandem::Error { \
    using ::tandem::Error::Error; \
  };
TANDEM_COMPAT_ERROR(BufferError)
TANDEM_COMPAT_ERROR(EnforceFiniteError)
TANDEM_COMPAT_ERROR(ErrorAlwaysShowCppStacktrace)
TANDEM_COMPAT_ERROR(OnnxfiBackendSystemError)
TANDEM_COMPAT_ERROR(SyntaxError)
#undef TANDEM_COMPAT_ERROR
}  // namespace c10

/// Throws KIND with the concatenated parts as its message unless the condition holds. A part may be anything that can
/// be written to a stream. As in LibTorch an `if`, which programs use without a semicolon, too.
#define TANDEM_COMPAT_CHECK(KIND, condition, ...)                                                  \
  if (C10_UNLIKELY_OR_CONST(!(condition))) {                                                       \
    ::tandem::compat::fail<KIND>("Expected " #condition " to be true" __VA_OPT__(, ) __VA_ARGS__); \
  }

#define TORCH_CHECK(...) TANDEM_COMPAT_CHECK(::tandem::Error, __VA_ARGS__)
#define TORCH_CHECK_VALUE(...) TANDEM_COMPAT_CHECK(::tandem::ValueError, __VA_ARGS__)
#define TORCH_CHECK_TYPE(...) TANDEM_COMPAT_CHECK(::tandem::TypeError, __VA_ARGS__)
#define TORCH_CHECK_INDEX(...) TANDEM_COMPAT_CHECK(::tandem::IndexError, __VA_ARGS__)
#define TORCH_CHECK_LINALG(...) TANDEM_COMPAT_CHECK(::tandem::LinAlgError, __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(...) TANDEM_COMPAT_CHECK(::tandem::NotImplementedError, __VA_ARGS__)
#define TORCH_CHECK_BUFFER(...) TANDEM_COMPAT_CHECK(::c10::BufferError, __VA_ARGS__)
#define TORCH_CHECK_ALWAYS_SHOW_CPP_STACKTRACE(...) \
  TANDEM_COMPAT_CHECK(::c10::ErrorAlwaysShowCppStacktrace, __VA_ARGS__)
#define TORCH_CHECK_WITH(error, condition, ...) TANDEM_COMPAT_CHECK(::c10::error, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_WITH_MSG(error, condition, kind, ...) TORCH_CHECK_WITH(error, condition __VA_OPT__(, ) __VA_ARGS__)
#define STD_TORCH_CHECK(...) TANDEM_COMPAT_CHECK(::std::runtime_error, __VA_ARGS__)
/// The message of such a check.
#define TORCH_CHECK_MSG(condition, kind, ...) \
  (::tandem::compat::message("Expected " #condition " to be true" __VA_OPT__(, ) __VA_ARGS__))
#define STD_TORCH_CHECK_MSG(condition, kind, ...) TORCH_CHECK_MSG(condition, kind __VA_OPT__(, ) __VA_ARGS__)
#define C10_BUILD_ERROR(kind, message) ::c10::kind(message)
/// Throws the caught error again. The text is left out: messages have no context.
#define TORCH_RETHROW(error, ...) throw
#define TORCH_INTERNAL_ASSERT(...) TORCH_CHECK(__VA_ARGS__)
#ifdef NDEBUG
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) \
  while (false) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_FALSE_OR_RETURN(...) return __VA_ARGS__
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) TORCH_CHECK(__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_FALSE_OR_RETURN(...) TORCH_INTERNAL_ASSERT(false)
#endif

/// `TORCH_CHECK_EQ(a, b) << "text";` throws Error with both values and the text unless they are equal. As in LibTorch,
/// an expression that evaluates the operands again for the message.
#define TORCH_CHECK_OP(a, b, op)                                                                                     \
  ((a)op(b)) ? (void)0                                                                                               \
             : ::tandem::compat::Discard() & ::tandem::compat::FailedCheck().stream()                                \
                                                 << "Check failed: " #a " " #op " " #b " (" << (a) << " vs. " << (b) \
                                                 << "). "
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK_OP(a, b, ==)
#define TORCH_CHECK_NE(a, b) TORCH_CHECK_OP(a, b, !=)
#define TORCH_CHECK_LT(a, b) TORCH_CHECK_OP(a, b, <)
#define TORCH_CHECK_LE(a, b) TORCH_CHECK_OP(a, b, <=)
#define TORCH_CHECK_GT(a, b) TORCH_CHECK_OP(a, b, >)
#define TORCH_CHECK_GE(a, b) TORCH_CHECK_OP(a, b, >=)
#ifdef NDEBUG
#define TORCH_DCHECK_OP(a, b, op) \
  while (false) TORCH_CHECK_OP(a, b, op)
#else
#define TORCH_DCHECK_OP(a, b, op) TORCH_CHECK_OP(a, b, op)
#endif
#define TORCH_DCHECK_EQ(a, b) TORCH_DCHECK_OP(a, b, ==)
#define TORCH_DCHECK_NE(a, b) TORCH_DCHECK_OP(a, b, !=)
#define TORCH_DCHECK_LT(a, b) TORCH_DCHECK_OP(a, b, <)
#define TORCH_DCHECK_LE(a, b) TORCH_DCHECK_OP(a, b, <=)
#define TORCH_DCHECK_GT(a, b) TORCH_DCHECK_OP(a, b, >)
#define TORCH_DCHECK_GE(a, b) TORCH_DCHECK_OP(a, b, >=)
/// The pointer; throws Error if it is null.
#define TORCH_CHECK_NOTNULL(pointer) (::tandem::compat::not_null(pointer, #pointer))
#ifdef NDEBUG
#define TORCH_DCHECK_NOTNULL(pointer) (pointer)
#else
#define TORCH_DCHECK_NOTNULL(pointer) TORCH_CHECK_NOTNULL(pointer)
#endif
#define TORCH_CHECK_IF_NOT_ON_CUDA(...) TORCH_CHECK(__VA_ARGS__)
#define TORCH_CHECK_ARG(condition, position, ...) \
  TORCH_CHECK(condition, "invalid argument ", position, ": ", __VA_ARGS__)
#define C10_THROW_ERROR(kind, message) throw ::tandem::kind(message)
#define C10_LOG_API_USAGE_ONCE(...)
#define AT_ASSERT(condition) TORCH_CHECK(condition)
#define AT_ASSERTM(...) TORCH_CHECK(__VA_ARGS__)
#define AT_ERROR(...) TORCH_CHECK(false __VA_OPT__(, ) __VA_ARGS__)

#define TORCH_WARN_WITH(kind, ...) \
  ::tandem::compat::warn<::tandem::kind>({__func__, __FILE__, __LINE__} __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WARN(...) TORCH_WARN_WITH(UserWarning __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WARN_DEPRECATION(...) TORCH_WARN_WITH(DeprecationWarning __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WARN_ONCE(...)                                           \
  do {                                                                 \
    static std::atomic_flag said;                                      \
    if (::tandem::WarningUtils::is_due(said)) TORCH_WARN(__VA_ARGS__); \
  } while (false)
#define AT_WARN(...) TORCH_WARN(__VA_ARGS__)
