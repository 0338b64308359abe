// Conversion of an element from one dtype to another, for host and device.
#pragma once
#include <type_traits>

#include "tandem/core/half.h"

namespace tandem::ops {

/// For a value that the integer type cannot hold, the result depends on the processor, as in PyTorch.
template <class To, class From>
#ifdef __clang__
[[clang::no_sanitize("float-cast-overflow")]]
#endif
TANDEM_HD inline To
convert(From value) {
  constexpr bool to_half = std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>,
                 from_half = std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>;
  if constexpr (std::is_same_v<To, bool>) {
    if constexpr (from_half)
      return static_cast<float>(value) != 0;
    else
      return value != From(0);
  } else if constexpr (to_half) {
    return To(static_cast<float>(value));
  } else if constexpr (from_half) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4) {
    return static_cast<To>(static_cast<int>(value));  // wraps around
  } else if constexpr (std::is_floating_point_v<From> && std::is_unsigned_v<To>) {
    if constexpr (sizeof(To) == 8)
      if (value >= From(0x1p63)) return static_cast<To>(value);
    return static_cast<To>(static_cast<int64_t>(value));  // negative values wrap around
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace tandem::ops
