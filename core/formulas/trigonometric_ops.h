// Trigonometric and hyperbolic functions and their inverses. gradient() returns g times the derivative, computed from
// what the forward saved: its input x or its output y. Where outside(x) is true, exact(x) must replace apply(x), and
// exact_gradient(g, x) must replace gradient(g, x).
#pragma once
#include <cmath>
#include "tandem/core/formulas/elementwise.h"
#include "tandem/core/formulas/value.h"

namespace tandem::ops {

struct OfAngle {
  template <class T>
  TANDEM_HD static bool outside(T x) {
    return !(std::fabs(x) <= T(math::max_angle));
  }
};
struct Sin : Elementwise<"sin", FloatTypes, Saves::kInput>, OfAngle {
  TANDEM_HD static auto apply(auto x) { return x == 0 ? x : math::sin(x); }  // keeps the sign of zero
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return g * cos(x); }
  TANDEM_HD static auto exact(auto x) { return math::sine<true>(x, 0); }
  TANDEM_HD static auto exact_gradient(auto g, auto x) { return g * math::sine<true>(x, 1); }
};
struct Cos : Elementwise<"cos", FloatTypes, Saves::kInput>, OfAngle {
  TANDEM_HD static auto apply(auto x) { return math::cos(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return -g * sin(x); }
  TANDEM_HD static auto exact(auto x) { return math::sine<true>(x, 1); }
  TANDEM_HD static auto exact_gradient(auto g, auto x) { return -g * math::sine<true>(x, 0); }
};
struct Tan : Elementwise<"tan", FloatTypes, Saves::kOutput>, OfAngle {
  TANDEM_HD static auto apply(auto x) { return math::tan(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& y) { return g * (y * y + 1); }
  TANDEM_HD static auto exact(auto x) { return math::tan<true>(x); }
};
/// 1 - x²: as (1 - x) (x + 1) near ±1, else as written, since the derivatives of the factors cancel near 0.
template <class V>
TANDEM_HD inline V one_minus_square(const V& x) {
  return select(abs(x) < Number<V>(0.5), 1 - x * x, (1 - x) * (x + 1));
}
struct Asin : Elementwise<"asin", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::asin(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return g / sqrt(one_minus_square(x)); }
};
struct Acos : Elementwise<"acos", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::acos(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return -g / sqrt(one_minus_square(x)); }
};
struct Atan : Elementwise<"atan", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::atan(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return g / (x * x + 1); }
};
struct Sinh : Elementwise<"sinh", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::sinh(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return g * cosh(x); }
};
struct Cosh : Elementwise<"cosh", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::cosh(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return g * sinh(x); }
};
struct Tanh : Elementwise<"tanh", FloatTypes, Saves::kOutput> {
  TANDEM_HD static auto apply(auto x) { return math::tanh(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& y) { return g * (1 - y * y); }
};
struct Asinh : Elementwise<"asinh", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::asinh(x); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    const V a = abs(x);
    return g / select(a > Number<V>(1e9), a, sqrt(x * x + 1));  // the square may overflow
  }
};
struct Acosh : Elementwise<"acosh", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::acosh(x); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g / select(x > Number<V>(1e9), x, sqrt((x - 1) * (x + 1)));
  }
};
struct Atanh : Elementwise<"atanh", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::atanh(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return g / one_minus_square(x); }
};

}  // namespace tandem::ops
