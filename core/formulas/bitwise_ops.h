// Elementwise bitwise operations on integers. On bool, the first three are the logical operations.
#pragma once
#include "tandem/core/base/host_device.h"
#include "tandem/core/element_types.h"

namespace tandem::ops {

struct BitAnd {
  static constexpr const char* name = "bitwise_and";
  using Types = BitTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  static constexpr const char* name = "bitwise_or";
  using Types = BitTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  static constexpr const char* name = "bitwise_xor";
  using Types = BitTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
/// a 2^b, wrapped; 0 if b is negative or at least the number of bits.
struct ShiftLeft {
  static constexpr const char* name = "bitwise_left_shift";
  using Types = IntTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    const bool inside = b >= T(0) && b < static_cast<T>(8 * sizeof(T));
    return inside ? static_cast<T>(static_cast<uint64_t>(a) << static_cast<unsigned>(b)) : T(0);
  }
};
/// floor(a / 2^b); 0 or -1 by the sign of a if b is negative or at least the number of bits.
struct ShiftRight {
  static constexpr const char* name = "bitwise_right_shift";
  using Types = IntTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    const bool inside = b >= T(0) && b < static_cast<T>(8 * sizeof(T));
    return static_cast<T>(a >> (inside ? static_cast<unsigned>(b) : 8 * sizeof(T) - 1) >>
                          (!inside && std::is_unsigned_v<T> ? 1 : 0));
  }
};

}  // namespace tandem::ops
