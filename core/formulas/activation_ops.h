// Smooth activation functions. gradient(): g times the derivative, from what the forward saved: its input x
// or its output y; p and q are the parameters of both.
#pragma once
#include <cmath>
#include "tandem/core/formulas/math_angles.h"
#include "tandem/core/host_device.h"
#include "tandem/core/scalar.h"

namespace tandem::ops {

/// 1 / (1 + e^-x)
struct Sigmoid {
  static constexpr const char* name = "sigmoid";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::sigmoid(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T y) {
    return g * ((T(1) - y) * y);
  }
};
/// log(sigmoid(x))
struct LogSigmoid {
  static constexpr const char* name = "log_sigmoid";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return (x < T(0) ? x : T(0)) - math::log1p(math::exp(-std::fabs(x)));
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    return g * math::sigmoid(-x);
  }
};
/// x sigmoid(x)
struct Silu {
  static constexpr const char* name = "silu";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x * math::sigmoid(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    const T s = math::sigmoid(x);
    return g * (s * (T(1) + x * (T(1) - s)));
  }
};
/// log(1 + e^(p x)) / p, or x where p x > q.
struct Softplus {
  static constexpr const char* name = "softplus";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x, T p, T q) {
    const T b = x * p;
    return b > q ? x : math::log1p(math::exp(b)) / p;
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x, T p, T q) {
    const T b = x * p;
    return b > q ? g : g * math::sigmoid(b);
  }
};
/// q max(0, x) + q min(0, p (e^x - 1))
struct Elu {
  static constexpr const char* name = "elu";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x, T p, T q) {
    return x > T(0) ? x * q : q * p * math::expm1(x);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x, T p, T q) {
    return x > T(0) ? g * q : g * (q * p * math::exp(x));
  }
};
/// max(0, x) + min(0, p (e^(x/p) - 1))
struct Celu {
  static constexpr const char* name = "celu";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x, T p) {
    return x > T(0) ? x : p * math::expm1(x / p);
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x, T p) {
    return x > T(0) ? g : g * math::exp(x / p);
  }
};
/// x Φ(x), Φ the normal distribution (Hendrycks and Gimpel, arXiv:1606.08415).
struct Gelu {
  static constexpr const char* name = "gelu";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x * (T(0.5) * math::erfc(x * T(-0.70710678118654752)));
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    const T cdf = T(0.5) * math::erfc(x * T(-0.70710678118654752));
    return g * (cdf + x * (T(0.3989422804014327) * math::exp(T(-0.5) * x * x)));
  }
};
/// x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2, as x sigmoid(2 √(2/π) (x + 0.044715 x³)): nothing cancels.
struct GeluTanh {
  static constexpr const char* name = "gelu";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x * math::sigmoid(inner(math::limit(x, -bound<T>, bound<T>)));
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    const T y = math::limit(x, -bound<T>, bound<T>), s = math::sigmoid(inner(y));
    const T slope = T(1.5957691216057308) * (T(1) + T(0.134145) * y * y);
    return g * (s + y * (s * (T(1) - s) * slope));
  }
  template <class T>
  TANDEM_HD static T inner(T x) {
    return T(1.5957691216057308) * (x + T(0.044715) * x * x * x);
  }
  /// From here on the sigmoid is 0 or 1.
  template <class T>
  static constexpr T bound = 30;
};
/// x tanh(log(1 + e^x))
struct Mish {
  static constexpr const char* name = "mish";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x * math::tanh(math::log1p(math::exp(x)));
  }
  template <class T>
  TANDEM_HD static T gradient(T g, T x) {
    const T t = math::tanh(math::log1p(math::exp(x)));
    return g * (t + x * ((T(1) - t * t) * math::sigmoid(x)));
  }
};

}  // namespace tandem::ops
