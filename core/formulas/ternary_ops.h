// Elementwise ternary operations: three arguments of the output's type and a parameter.
#pragma once
#include "tandem/core/base/host_device.h"
#include "tandem/core/element_types.h"
#include "tandem/core/formulas/arithmetic_ops.h"

namespace tandem::ops {

/// a + p b c
struct Addcmul {
  static constexpr const char* name = "addcmul";
  using Types = NumericTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T b, T c, T p) {
    using W = Wrapping<T>;
    return static_cast<T>(W(a) + W(p) * W(b) * W(c));
  }
};
/// a + p b / c
struct Addcdiv {
  static constexpr const char* name = "addcdiv";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T b, T c, T p) {
    return a + p * b / c;
  }
};
/// a + c (b - a), computed from the nearer end.
struct Lerp {
  static constexpr const char* name = "lerp";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T b, T c, T) {
    return c < T(0.5) && c > T(-0.5) ? a + c * (b - a) : b - (b - a) * (T(1) - c);
  }
};
/// Gradient of a b/c with respect to c: -a (b / c) / c.
struct DivBackward {
  static constexpr const char* name = "div_backward";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T b, T c, T) {
    return -a * ((b / c) / c);
  }
};

}  // namespace tandem::ops
