// Elementwise bitwise operations on integers. On bool, the first three are the logical operations.
#pragma once
#include "tandem/core/formulas/elementwise.h"

namespace tandem::ops {

struct BitAnd : Elementwise<"bitwise_and", BitTypes> {
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr : Elementwise<"bitwise_or", BitTypes> {
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor : Elementwise<"bitwise_xor", BitTypes> {
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
/// a 2^b, wrapped; 0 if b is negative or at least the number of bits.
struct ShiftLeft : Elementwise<"bitwise_left_shift", IntTypes> {
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    const bool inside = b >= T(0) && b < static_cast<T>(8 * sizeof(T));
    return inside ? static_cast<T>(static_cast<uint64_t>(a) << static_cast<unsigned>(b)) : T(0);
  }
};
/// floor(a / 2^b); 0 or -1 by the sign of a if b is negative or at least the number of bits.
struct ShiftRight : Elementwise<"bitwise_right_shift", IntTypes> {
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    const bool inside = b >= T(0) && b < static_cast<T>(8 * sizeof(T));
    return static_cast<T>(a >> (inside ? static_cast<unsigned>(b) : 8 * sizeof(T) - 1) >>
                          (!inside && std::is_unsigned_v<T> ? 1 : 0));
  }
};

}  // namespace tandem::ops
