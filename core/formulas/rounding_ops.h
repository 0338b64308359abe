// Sign, rounding and complement operations, without fused gradients. Where gradient() is missing, the gradient is
// zero.
#pragma once
#include <cmath>
#include "tandem/core/base/host_device.h"
#include "tandem/core/element_types.h"
#include "tandem/core/formulas/arithmetic_ops.h"
#include "tandem/core/formulas/value.h"

namespace tandem::ops {

struct Neg {
  static constexpr const char* name = "neg";
  using Types = NumericTypes;
  static constexpr Saves saves = Saves::kNothing;
  template <class T>
  TANDEM_HD static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(x));
    else
      return -x;
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g) {
    return -g;
  }
};
/// -1, 0 or 1; 0 for NaN.
struct Sign {
  static constexpr const char* name = "sign";
  using Types = ComputedTypes;
  static constexpr Saves saves = Saves::kNothing;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::sign(x);
  }
};
struct Floor {
  static constexpr const char* name = "floor";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kNothing;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::floor(x);
  }
};
struct Ceil {
  static constexpr const char* name = "ceil";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kNothing;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::ceil(x);
  }
};
/// Rounds to the nearest integer, half to even.
struct Round {
  static constexpr const char* name = "round";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kNothing;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::nearbyint(x);
  }
};
struct Trunc {
  static constexpr const char* name = "trunc";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kNothing;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::trunc(x);
  }
};
/// x - trunc(x)
struct Frac {
  static constexpr const char* name = "frac";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kNothing;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x - std::trunc(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g) {
    return g;
  }
};
struct BitNot {
  static constexpr const char* name = "bitwise_not";
  using Types = BitTypes;
  static constexpr Saves saves = Saves::kNothing;
  template <class T>
  TANDEM_HD static T apply(T x) {
    if constexpr (std::is_same_v<T, bool>)
      return !x;
    else
      return static_cast<T>(~x);
  }
};

}  // namespace tandem::ops
