// Trigonometric and hyperbolic functions and their inverses. gradient(): g times the derivative, from what
// the forward saved: its input x or its output y. Where outside(x), exact(x) has to replace apply(x), and
// exact_gradient(g, x) gradient(g, x).
#pragma once
#include <cmath>
#include "tandem/core/formulas/math_angles.h"
#include "tandem/core/host_device.h"
#include "tandem/core/scalar.h"

namespace tandem::ops {

struct Sin {
  static constexpr const char* name = "sin";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x == T(0) ? x : math::sin(x);  // keeps the sign of zero
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return g * math::cos(x);
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
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::cos(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return -g * math::sin(x);
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
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::tan(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T y) {
    return g * (T(1) + y * y);
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
struct Asin {
  static constexpr const char* name = "asin";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::asin(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return g / std::sqrt((T(1) - x) * (T(1) + x));
  }
};
struct Acos {
  static constexpr const char* name = "acos";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::acos(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return -g / std::sqrt((T(1) - x) * (T(1) + x));
  }
};
struct Atan {
  static constexpr const char* name = "atan";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::atan(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return g / (T(1) + x * x);
  }
};
struct Sinh {
  static constexpr const char* name = "sinh";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::sinh(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return g * math::cosh(x);
  }
};
struct Cosh {
  static constexpr const char* name = "cosh";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::cosh(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return g * math::sinh(x);
  }
};
struct Tanh {
  static constexpr const char* name = "tanh";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::tanh(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T y) {
    return g * (T(1) - y * y);
  }
};
struct Asinh {
  static constexpr const char* name = "asinh";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::asinh(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    const T a = std::fabs(x);
    return g / (a > T(1e9) ? a : std::sqrt(x * x + T(1)));  // the square may overflow
  }
};
struct Acosh {
  static constexpr const char* name = "acosh";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::acosh(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return g / (x > T(1e9) ? x : std::sqrt((x - T(1)) * (x + T(1))));
  }
};
struct Atanh {
  static constexpr const char* name = "atanh";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::atanh(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return g / ((T(1) - x) * (T(1) + x));
  }
};

}  // namespace tandem::ops
