// Algebraic unary functions. gradient() returns g times the derivative, computed from what the forward saved: its
// input x or its output y.
#pragma once
#include <cmath>
#include <limits>
#include "tandem/core/formulas/arithmetic_ops.h"
#include "tandem/core/formulas/value.h"

namespace tandem::ops {

struct Abs : Elementwise<"abs", NumericTypes, Saves::kInput> {
  template <class T>
  TANDEM_HD static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return x < T(0) ? static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(x)) : x;
    else
      return std::fabs(x);
  }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return g * sign(x); }
};
struct Sqrt : Elementwise<"sqrt", FloatTypes, Saves::kOutput> {
  TANDEM_HD static auto apply(auto x) { return std::sqrt(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& y) { return g / (y * 2); }
};
struct Rsqrt : Elementwise<"rsqrt", FloatTypes, Saves::kOutput> {
  TANDEM_HD static auto apply(auto x) { return 1 / std::sqrt(x); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& y) {
    return g * (y * y * y * Number<V>(-0.5));
  }
};
struct Reciprocal : Elementwise<"reciprocal", FloatTypes, Saves::kOutput> {
  TANDEM_HD static auto apply(auto x) { return 1 / x; }
  TANDEM_HD static auto gradient(const auto& g, const auto& y) { return -g * y * y; }
};
struct Square : Elementwise<"square", NumericTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return Mul::apply(x, x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return g * (x * 2); }
};
/// max(x, 0); NaN stays. Input and output lead to the same gradient.
struct Relu : Elementwise<"relu", NumericTypes, Saves::kOutput> {
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x < T(0) ? T(0) : x;
  }
  TANDEM_HD static auto gradient(const auto& g, const auto& y) { return select(y <= 0, 0, g); }
};
/// min(max(x, p), q); NaN in x or in a bound propagates. The gradient is 0 at the bounds and for NaN, but p = -∞ and
/// q = ∞ count as no bound.
struct Clamp : Elementwise<"clamp", NumericTypes, Saves::kInput> {
  template <class T>
  TANDEM_HD static T apply(T x, T p, T q) {
    // Selections between two values only, which compilers turn into vector instructions.
    const T upper = p != p ? p : q, y = x >= p ? x : p, z = y <= upper ? y : upper;
    return x != x ? x : z;
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x, Number<V> p, Number<V> q) {
    constexpr auto infinity = std::numeric_limits<Number<V>>::infinity();
    const auto above = p == -infinity ? x == x : x > p, below = q == infinity ? x == x : x < q;
    return select(above & below, g, 0);
  }
};
/// clamp with a gradient that is 0 at the bounds, even infinite ones, and g for NaN.
struct Hardtanh : Elementwise<"hardtanh", NumericTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x, auto p, auto q) { return Clamp::apply(x, p, q); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x, Number<V> p, Number<V> q) {
    return select((x <= p) | (x >= q), 0, g);
  }
};
/// x where it is above p, else q; NaN stays.
struct Threshold : Elementwise<"threshold", NumericTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x, auto p, auto q) { return x <= p ? q : x; }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x, Number<V> p) {
    return select(x <= p, 0, g);
  }
};
struct LeakyRelu : Elementwise<"leaky_relu", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x, auto p) { return x > 0 ? x : x * p; }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x, Number<V> p) {
    return select(x > 0, g, g * p);
  }
};
/// min(max(x + 3, 0), 6) / 6
struct Hardsigmoid : Elementwise<"hardsigmoid", FloatTypes, Saves::kInput> {
  template <class T>
  TANDEM_HD static T apply(T x) {
    return Clamp::apply(x + 3, T(0), T(6)) / 6;
  }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return select((x > -3) & (x < 3), g / 6, 0); }
};
/// x hardsigmoid(x)
struct Hardswish : Elementwise<"hardswish", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return x * Hardsigmoid::apply(x); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    // The second factor is always finite, so neither an infinite g nor an infinite x becomes NaN, here or in the
    // next derivative.
    return select(x <= -3, 0, g) * select(abs(x) < 3, x / 3 + Number<V>(0.5), 1);
  }
};
struct Softsign : Elementwise<"softsign", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return x / (1 + std::fabs(x)); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    const V d = abs(x) + 1;
    return g / (d * d);
  }
};

}  // namespace tandem::ops
