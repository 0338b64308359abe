// Trigonometric and hyperbolic functions and their inverses. gradient() returns g times the derivative, computed from
// what the forward saved: its input x or its output y. Where outside(x) is true, exact(x) must replace apply(x), and
// exact_gradient(g, x) must replace gradient(g, x).
#pragma once
#include <cmath>
#include "tandem/core/base/host_device.h"
#include "tandem/core/element_types.h"
#include "tandem/core/formulas/value.h"

namespace tandem::ops {

struct Sin {
  static constexpr const char* name = "sin";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x == T(0) ? x : math::sin(x);  // keeps the sign of zero
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g * cos(x);
  }
  template <class T>
  TANDEM_HD static bool outside(T x) {
    return !(std::fabs(x) <= T(math::max_angle));
  }
  template <class T>
  static T exact(T x) {
    return std::sin(x);
  }
  template <class T>
  static T exact_gradient(T g, T x) {
    return g * std::cos(x);
  }
};
struct Cos {
  static constexpr const char* name = "cos";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::cos(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return -g * sin(x);
  }
  template <class T>
  TANDEM_HD static bool outside(T x) {
    return !(std::fabs(x) <= T(math::max_angle));
  }
  template <class T>
  static T exact(T x) {
    return std::cos(x);
  }
  template <class T>
  static T exact_gradient(T g, T x) {
    return -g * std::sin(x);
  }
};
struct Tan {
  static constexpr const char* name = "tan";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kOutput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::tan(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& y) {
    return g * (y * y + 1);
  }
  template <class T>
  TANDEM_HD static bool outside(T x) {
    return !(std::fabs(x) <= T(math::max_angle));
  }
  template <class T>
  static T exact(T x) {
    return std::tan(x);
  }
};
/// 1 - x²: as (1 - x) (x + 1) near ±1, else as written, since the derivatives of the factors cancel near 0.
template <class V>
TANDEM_HD inline V one_minus_square(const V& x) {
  return select(abs(x) < Number<V>(0.5), 1 - x * x, (1 - x) * (x + 1));
}
struct Asin {
  static constexpr const char* name = "asin";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::asin(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g / sqrt(one_minus_square(x));
  }
};
struct Acos {
  static constexpr const char* name = "acos";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::acos(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return -g / sqrt(one_minus_square(x));
  }
};
struct Atan {
  static constexpr const char* name = "atan";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::atan(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g / (x * x + 1);
  }
};
struct Sinh {
  static constexpr const char* name = "sinh";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::sinh(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g * cosh(x);
  }
};
struct Cosh {
  static constexpr const char* name = "cosh";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::cosh(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g * sinh(x);
  }
};
struct Tanh {
  static constexpr const char* name = "tanh";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kOutput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::tanh(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& y) {
    return g * (1 - y * y);
  }
};
struct Asinh {
  static constexpr const char* name = "asinh";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::asinh(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    const V a = abs(x);
    return g / select(a > Number<V>(1e9), a, sqrt(x * x + 1));  // the square may overflow
  }
};
struct Acosh {
  static constexpr const char* name = "acosh";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::acosh(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g / select(x > Number<V>(1e9), x, sqrt((x - 1) * (x + 1)));
  }
};
struct Atanh {
  static constexpr const char* name = "atanh";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::atanh(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g / one_minus_square(x);
  }
};

}  // namespace tandem::ops
