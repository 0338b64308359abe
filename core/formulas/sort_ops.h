// Unsigned sort keys, for host and device.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tandem/core/base/host_device.h"

namespace tandem {

template <class T>
using SortKey = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/// An unsigned key that increases with x. NaN has the largest key; -0 equals 0. ~key sorts in descending order.
template <class T>
TANDEM_HD inline SortKey<T> ascending_key(T x) {
  using Key = SortKey<T>;
  constexpr Key kSign = Key(1) << (8 * sizeof(Key) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return std::numeric_limits<Key>::max();
    const Key bits = std::bit_cast<Key>(x == T(0) ? T(0) : x);
    return bits & kSign ? static_cast<Key>(~bits) : static_cast<Key>(bits | kSign);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(x) ^ kSign;
  } else {
    return static_cast<Key>(x);
  }
}

}  // namespace tandem
