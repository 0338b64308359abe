// Sign, rounding and complement operations, without fused gradients. Where gradient() is missing, the gradient is
// zero.
#pragma once
#include <cmath>
#include "tandem/core/formulas/arithmetic_ops.h"
#include "tandem/core/formulas/value.h"

namespace tandem::ops {

struct Neg : Elementwise<"neg", NumericTypes> {
  template <class T>
  TANDEM_HD static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(x));
    else
      return -x;
  }
  TANDEM_HD static auto gradient(const auto& g) { return -g; }
};
/// -1, 0 or 1; 0 for NaN.
struct Sign : Elementwise<"sign", ComputedTypes> {
  TANDEM_HD static auto apply(auto x) { return math::sign(x); }
};
struct Floor : Elementwise<"floor", FloatTypes> {
  TANDEM_HD static auto apply(auto x) { return std::floor(x); }
};
struct Ceil : Elementwise<"ceil", FloatTypes> {
  TANDEM_HD static auto apply(auto x) { return std::ceil(x); }
};
/// Rounds to the nearest integer, half to even.
struct Round : Elementwise<"round", FloatTypes> {
  TANDEM_HD static auto apply(auto x) { return std::nearbyint(x); }
};
struct Trunc : Elementwise<"trunc", FloatTypes> {
  TANDEM_HD static auto apply(auto x) { return std::trunc(x); }
};
/// x - trunc(x)
struct Frac : Elementwise<"frac", FloatTypes> {
  TANDEM_HD static auto apply(auto x) { return x - std::trunc(x); }
  TANDEM_HD static auto gradient(const auto& g) { return g; }
};
struct BitNot : Elementwise<"bitwise_not", BitTypes> {
  template <class T>
  TANDEM_HD static T apply(T x) {
    if constexpr (std::is_same_v<T, bool>)
      return !x;
    else
      return static_cast<T>(~x);
  }
};

}  // namespace tandem::ops
