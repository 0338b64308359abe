// LibTorch's main header: programs written for LibTorch compile against Tandem with this include path alone.
//
// torch, at and c10 are aliases of tandem; the macros below are those such programs use. The standard headers
// are included because LibTorch's headers include them too.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/tandem.h"

namespace torch = tandem;
namespace at = tandem;
namespace c10 = tandem;

#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 0

#define TORCH_MODULE(Name) TANDEM_MODULE(Name)
#define TORCH_MODULE_IMPL(Name, ImplType) TANDEM_MODULE_IMPL(Name, ImplType)
#define TORCH_ARG(T, name) TANDEM_ARG(T, name)

/// Throws torch::Error with the concatenated parts as its message unless the condition holds. A part may be
/// anything that can be written to a stream.
#define TORCH_CHECK(condition, ...)                                                            \
  do {                                                                                         \
    if (!(condition))                                                                          \
      ::tandem::compat::fail("Expected " #condition " to be true" __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WARN(...) ::tandem::compat::warn(__VA_ARGS__)
#define TORCH_WARN_ONCE(...)                                                               \
  do {                                                                                     \
    [[maybe_unused]] static const bool said = (::tandem::compat::warn(__VA_ARGS__), true); \
  } while (false)
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b))
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b))
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b))
#define TORCH_CHECK_VALUE(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERT(condition) TORCH_CHECK(condition)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define AT_ERROR(...) TORCH_CHECK(false, __VA_ARGS__)

// Further LibTorch names.
namespace tandem::autograd {
using tensor_list = std::vector<Tensor>;
}
namespace tandem::optim {
using ReduceLROnPlateauScheduler = ReduceLROnPlateau;
}
namespace tandem {
/// The parts, formatted with operator<< and concatenated.
template <class... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream text;
  (static_cast<void>(text << parts), ...);
  return text.str();
}
}  // namespace tandem

namespace tandem::compat {

/// `expected` is the message when no parts are given.
template <class... Parts>
[[noreturn]] void fail(const char* expected, const Parts&... parts) {
  std::ostringstream text;
  if constexpr (sizeof...(Parts) == 0)
    text << expected;
  else
    (text << ... << parts);
  throw Error(text.str());
}
template <class... Parts>
void warn(const Parts&... parts) {
  std::cerr << "Warning: ";
  (std::cerr << ... << parts) << '\n';
}

}  // namespace tandem::compat
