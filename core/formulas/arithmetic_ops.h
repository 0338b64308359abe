// Elementwise binary arithmetic, for host and device. Both arguments have the output's type. A third argument, `p`,
// is a parameter of the call (alpha in add).
//
// Integers wrap around. Operations marked `hot` are worth specialised loops. Operations marked `divides` must not be
// called with an integer divisor of zero: backends check first.
#pragma once
#include <cmath>
#include <cstdint>

#include "tandem/core/formulas/elementwise.h"
#include "tandem/core/formulas/math_angles.h"
#include "tandem/core/formulas/math_powers.h"

namespace tandem::ops {

/// The type to compute in: unsigned for integers, so overflow wraps instead of being undefined.
template <class T>
using Wrapping = std::conditional_t<!std::is_integral_v<T>, T, std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;

template <class T>
TANDEM_HD inline T wrapping_sum(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}

/// a + p b
struct Add : Elementwise<"add", ComputedTypes> {
  static constexpr bool hot = true;
  template <class T>
  TANDEM_HD static T apply(T a, T b, T p) {
    using W = Wrapping<T>;
    if constexpr (std::is_same_v<T, bool>)
      return a || (p && b);
    else
      return static_cast<T>(static_cast<W>(a) + static_cast<W>(p) * static_cast<W>(b));
  }
};
struct Mul : Elementwise<"mul", concat_t<ComputedTypes, ComplexTypes>> {
  static constexpr bool hot = true;
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    using W = Wrapping<T>;
    if constexpr (std::is_same_v<T, bool>)
      return a && b;
    else
      return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
};
struct Div : Elementwise<"div", concat_t<FloatTypes, ComplexTypes>> {
  static constexpr bool hot = true;
  TANDEM_HD static auto apply(auto a, auto b) { return a / b; }
};
/// a / b rounded towards zero.
struct TruncDivide : Elementwise<"div", NumericTypes> {
  static constexpr bool divides = true;
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(Wrapping<T>(0) - Wrapping<T>(a));
      return static_cast<T>(a / b);
    } else {
      return std::trunc(a / b);
    }
  }
};
/// a - trunc(a / b) b, with the sign of a.
struct Fmod : Elementwise<"fmod", NumericTypes> {
  static constexpr bool divides = true;
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return std::is_signed_v<T> && b == static_cast<T>(-1) ? T(0) : static_cast<T>(a % b);
    else
      return std::fmod(a, b);
  }
};
/// a - floor(a / b) b, with the sign of b (Python's %).
struct Remainder : Elementwise<"remainder", NumericTypes> {
  static constexpr bool divides = true;
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    const T m = Fmod::apply(a, b);
    return m != T(0) && (m < T(0)) != (b < T(0)) ? static_cast<T>(m + b) : m;
  }
};
/// floor(a / b), exact even where a / b rounds up to an integer (Python's //).
struct FloorDivide : Elementwise<"floor_divide", NumericTypes> {
  static constexpr bool divides = true;
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    const T m = Fmod::apply(a, b);
    const bool below = m != T(0) && (m < T(0)) != (b < T(0));
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(TruncDivide::apply(a, b) - (below ? 1 : 0));
    } else {
      if (b == T(0)) return a / b;
      const T q = (a - m) / b - (below ? T(1) : T(0));
      return q == T(0) ? std::copysign(T(0), a / b) : std::round(q);
    }
  }
};
/// a to the power b. Negative powers of integers are exact for 1 and -1, and 0 for all others.
struct Pow : Elementwise<"pow", NumericTypes> {
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b < T(0)) return a == T(1) ? T(1) : a == static_cast<T>(-1) ? (b % 2 != 0 ? a : T(1)) : T(0);
      Wrapping<T> result = 1, factor = static_cast<Wrapping<T>>(a);
      for (auto n = static_cast<Wrapping<T>>(b); n != 0; n >>= 1) {
        if (n & 1u) result *= factor;
        factor *= factor;
      }
      return static_cast<T>(result);
    } else {
      return math::pow(a, b);
    }
  }
};
/// NaN if either argument is NaN.
struct Maximum : Elementwise<"maximum", ComputedTypes> {
  TANDEM_HD static auto apply(auto a, auto b) { return a > b || a != a ? a : b; }
};
struct Minimum : Elementwise<"minimum", ComputedTypes> {
  TANDEM_HD static auto apply(auto a, auto b) { return a < b || a != a ? a : b; }
};
struct Atan2 : Elementwise<"atan2", FloatTypes> {
  TANDEM_HD static auto apply(auto a, auto b) { return math::atan2(a, b); }
};
struct Hypot : Elementwise<"hypot", FloatTypes> {
  TANDEM_HD static auto apply(auto a, auto b) { return math::hypot(a, b); }
};
/// The greatest common divisor, not negative except where the magnitude of the smallest integer wraps.
struct Gcd : Elementwise<"gcd", IntTypes> {
  template <class T>
  TANDEM_HD static Wrapping<T> magnitude(T a) {
    return a < T(0) ? Wrapping<T>(0) - static_cast<Wrapping<T>>(a) : static_cast<Wrapping<T>>(a);
  }
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    Wrapping<T> x = magnitude(a), y = magnitude(b);
    while (y != 0) {
      const Wrapping<T> rest = x % y;
      x = y;
      y = rest;
    }
    return static_cast<T>(x);
  }
};
/// The least common multiple, 0 if either argument is 0.
struct Lcm : Elementwise<"lcm", IntTypes> {
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    using W = Wrapping<T>;
    if (a == T(0) || b == T(0)) return T(0);
    const W divisor = Gcd::magnitude(Gcd::apply(a, b));
    return static_cast<T>(Gcd::magnitude(a) / divisor * Gcd::magnitude(b));
  }
};
/// The number that follows a in the direction of b.
struct Nextafter : Elementwise<"nextafter", FloatTypes> {
  TANDEM_HD static auto apply(auto a, auto b) { return std::nextafter(a, b); }
};

}  // namespace tandem::ops
