// One-argument functions without a gradient of their own (zero, or that of neg).
#pragma once
#include <cmath>
#include "tandem/core/formulas/arithmetic_ops.h"
#include "tandem/core/host_device.h"
#include "tandem/core/scalar.h"

namespace tandem::ops {

struct Neg {
  static constexpr const char* name = "neg";
  using Types = NumericTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(x));
    else
      return -x;
  }
};
/// -1, 0 or 1; 0 for NaN.
struct Sign {
  static constexpr const char* name = "sign";
  using Types = ComputedTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return static_cast<T>((x > T(0)) - (x < T(0)));
  }
};
struct Floor {
  static constexpr const char* name = "floor";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::floor(x);
  }
};
struct Ceil {
  static constexpr const char* name = "ceil";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::ceil(x);
  }
};
/// To the nearest integer, halves to the even one.
struct Round {
  static constexpr const char* name = "round";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::nearbyint(x);
  }
};
struct Trunc {
  static constexpr const char* name = "trunc";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::trunc(x);
  }
};
/// x - trunc(x)
struct Frac {
  static constexpr const char* name = "frac";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x - std::trunc(x);
  }
};
struct BitNot {
  static constexpr const char* name = "bitwise_not";
  using Types = BitTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    if constexpr (std::is_same_v<T, bool>)
      return !x;
    else
      return static_cast<T>(~x);
  }
};

}  // namespace tandem::ops
