// Stores a number as an element of a dtype.
#pragma once
#include <cstring>

#include "tandem/core/scalar.h"

namespace tandem {

/// The bytes of the largest element.
inline constexpr std::size_t kMaxItem = 16;

/// Writes the number as an element of `type`. Throws Error if that type cannot hold it.
inline void store(const Scalar& number, ScalarType type, void* to) {
  dispatch(type, StoredTypes{}, "number", [&]<class T>(Type<T>) { *static_cast<T*>(to) = number.to<T>(); });
}
/// The first bytes of that element; bytes behind it are 0.
template <class Bits>
Bits bits_of(const Scalar& number, ScalarType type) {
  alignas(8) char bytes[kMaxItem] = {};
  store(number, type, bytes);
  Bits bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

}  // namespace tandem
