// Elementwise ternary operations: three arguments of the output's type and a parameter.
#pragma once
#include "tandem/core/formulas/arithmetic_ops.h"

namespace tandem::ops {

/// a + p b c
struct Addcmul : Elementwise<"addcmul", NumericTypes> {
  template <class T>
  TANDEM_HD static T apply(T a, T b, T c, T p) {
    using W = Wrapping<T>;
    return static_cast<T>(W(a) + W(p) * W(b) * W(c));
  }
};
/// a + p b / c
struct Addcdiv : Elementwise<"addcdiv", FloatTypes> {
  TANDEM_HD static auto apply(auto a, auto b, auto c, auto p) { return a + p * b / c; }
};
/// a + c (b - a), computed from the nearer end.
struct Lerp : Elementwise<"lerp", FloatTypes> {
  template <class T>
  TANDEM_HD static T apply(T a, T b, T c, T) {
    return c < T(0.5) && c > T(-0.5) ? a + c * (b - a) : b - (b - a) * (T(1) - c);
  }
};
/// Gradient of a b/c with respect to c: -a (b / c) / c.
struct DivBackward : Elementwise<"div_backward", FloatTypes> {
  TANDEM_HD static auto apply(auto a, auto b, auto c, auto) { return -a * ((b / c) / c); }
};

}  // namespace tandem::ops
