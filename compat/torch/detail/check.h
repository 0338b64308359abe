// LibTorch's checks, warnings and errors by kind.
#pragma once
#include <iostream>
#include <sstream>

#include "tandem/core/error.h"

namespace tandem::compat {

/// `expected` is the message when no parts are given.
template <class Kind = Error, class... Parts>
[[noreturn]] void fail(const char* expected, const Parts&... parts) {
  std::ostringstream text;
  if constexpr (sizeof...(Parts) == 0)
    text << expected;
  else
    (text << ... << parts);
  throw Kind(text.str());
}
template <class... Parts>
void warn(const Parts&... parts) {
  std::cerr << "Warning: ";
  (std::cerr << ... << parts) << '\n';
}

}  // namespace tandem::compat

/// Throws KIND with the concatenated parts as its message unless the condition holds. A part may be anything that can
/// be written to a stream.
#define TANDEM_COMPAT_CHECK(KIND, condition, ...)                                                    \
  do {                                                                                               \
    if (!(condition))                                                                                \
      ::tandem::compat::fail<KIND>("Expected " #condition " to be true" __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)

#define TORCH_CHECK(condition, ...) TANDEM_COMPAT_CHECK(::tandem::Error, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) \
  TANDEM_COMPAT_CHECK(::tandem::ValueError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) \
  TANDEM_COMPAT_CHECK(::tandem::TypeError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) \
  TANDEM_COMPAT_CHECK(::tandem::IndexError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_LINALG(condition, ...) \
  TANDEM_COMPAT_CHECK(::tandem::LinAlgError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) \
  TANDEM_COMPAT_CHECK(::tandem::NotImplementedError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_WITH(error, condition, ...) \
  TANDEM_COMPAT_CHECK(::tandem::error, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#ifdef NDEBUG
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) \
  while (false) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#endif
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b))
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b))
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b))
#define AT_ASSERT(condition) TORCH_CHECK(condition)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ERROR(...) TORCH_CHECK(false __VA_OPT__(, ) __VA_ARGS__)

#define TORCH_WARN(...) ::tandem::compat::warn(__VA_ARGS__)
#define TORCH_WARN_ONCE(...)                                                               \
  do {                                                                                     \
    [[maybe_unused]] static const bool said = (::tandem::compat::warn(__VA_ARGS__), true); \
  } while (false)
#define AT_WARN(...) TORCH_WARN(__VA_ARGS__)
