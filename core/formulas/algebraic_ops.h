// Algebraic functions of one argument. gradient(): g times the derivative, from what the forward saved: its
// input x or its output y.
#pragma once
#include <cmath>
#include <limits>
#include "tandem/core/formulas/arithmetic_ops.h"
#include "tandem/core/host_device.h"
#include "tandem/core/scalar.h"

namespace tandem::ops {

struct Abs {
  static constexpr const char* name = "abs";
  using Types = NumericTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return x < T(0) ? static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(x)) : x;
    else
      return std::fabs(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return g * static_cast<T>((x > T(0)) - (x < T(0)));
  }
};
struct Sqrt {
  static constexpr const char* name = "sqrt";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::sqrt(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T y) {
    return g / (T(2) * y);
  }
};
struct Rsqrt {
  static constexpr const char* name = "rsqrt";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return T(1) / std::sqrt(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T y) {
    return T(-0.5) * g * (y * y * y);
  }
};
struct Reciprocal {
  static constexpr const char* name = "reciprocal";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return T(1) / x;
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T y) {
    return -g * y * y;
  }
};
struct Square {
  static constexpr const char* name = "square";
  using Types = NumericTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return Mul::apply(x, x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return T(2) * g * x;
  }
};
/// max(x, 0); NaN stays. The gradient is the same from input and output.
struct Relu {
  static constexpr const char* name = "relu";
  using Types = NumericTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x < T(0) ? T(0) : x;
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T y) {
    return y <= T(0) ? T(0) : g;
  }
};
/// x not below p and not above q, which wins; NaN, also as a bound, stays. The gradient is 0 at the bounds
/// and for NaN; an infinite bound is none.
struct Clamp {
  static constexpr const char* name = "clamp";
  using Types = NumericTypes;
  template <class T>
  TANDEM_HD static T apply(T x, T p, T q) {
    const T y = (bool(x >= p) | bool(x != x)) ? x : p;
    return (bool(y <= q) | bool(y != y)) ? y : q;
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x, T p, T q) {
    if constexpr (std::is_integral_v<T>) return x > p && x < q ? g : T(0);
    const bool above = x > p || (p == -std::numeric_limits<T>::infinity() && x == x);
    const bool below = x < q || (q == std::numeric_limits<T>::infinity() && x == x);
    return above && below ? g : T(0);
  }
};
/// clamp with a gradient that is 0 at the bounds themselves.
struct Hardtanh {
  static constexpr const char* name = "hardtanh";
  using Types = NumericTypes;
  template <class T>
  TANDEM_HD static T apply(T x, T p, T q) {
    return Clamp::apply(x, p, q);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x, T p, T q) {
    return x > p && x < q ? g : T(0);
  }
};
/// x above p, else q; NaN stays.
struct Threshold {
  static constexpr const char* name = "threshold";
  using Types = NumericTypes;
  template <class T>
  TANDEM_HD static T apply(T x, T p, T q) {
    return x <= p ? q : x;
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x, T p, T q) {
    return x <= p ? T(0) : g;
  }
};
struct LeakyRelu {
  static constexpr const char* name = "leaky_relu";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x, T p) {
    return x > T(0) ? x : x * p;
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x, T p) {
    return x > T(0) ? g : g * p;
  }
};
/// min(max(x + 3, 0), 6) / 6
struct Hardsigmoid {
  static constexpr const char* name = "hardsigmoid";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return Clamp::apply(x + T(3), T(0), T(6)) / T(6);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return x > T(-3) && x < T(3) ? g / T(6) : T(0);
  }
};
/// x hardsigmoid(x)
struct Hardswish {
  static constexpr const char* name = "hardswish";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x * (Clamp::apply(x + T(3), T(0), T(6)) / T(6));
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return x <= T(-3) ? T(0) : x < T(3) ? g * (x / T(3) + T(0.5)) : g;
  }
};
struct Softsign {
  static constexpr const char* name = "softsign";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x / (T(1) + std::fabs(x));
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    const T d = T(1) + std::fabs(x);
    return g / (d * d);
  }
};

}  // namespace tandem::ops
