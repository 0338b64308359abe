// Order with NaN as the most extreme of all, for max, min, argmax, …
#pragma once
#include <limits>

#include "tandem/core/host_device.h"

namespace tandem::cpu {

template <class T>
struct Largest {
  /// Whether b takes the place of a: strictly larger, or a NaN after none.
  static bool better(T a, T b) { return bool(b > a) | (bool(b != b) & bool(a == a)); }
  static T worst() {
    if constexpr (std::numeric_limits<T>::has_infinity)
      return -std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::lowest();
  }
};
template <class T>
struct Smallest {
  static bool better(T a, T b) { return bool(b < a) | (bool(b != b) & bool(a == a)); }
  static T worst() {
    if constexpr (std::numeric_limits<T>::has_infinity)
      return std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::max();
  }
};

}  // namespace tandem::cpu
