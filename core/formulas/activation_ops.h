// Smooth activation functions. gradient() returns g times the derivative, computed from what the forward saved: its
// input x or its output y. p and q are the parameters of apply() and gradient().
#pragma once
#include <cmath>
#include <type_traits>

#include "tandem/core/formulas/elementwise.h"
#include "tandem/core/formulas/value.h"

namespace tandem::ops {

/// 1 / (1 + e^-x)
struct Sigmoid : Elementwise<"sigmoid", FloatTypes, Saves::kOutput> {
  TANDEM_HD static auto apply(auto x) { return math::sigmoid(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& y) { return g * ((1 - y) * y); }
};
/// log(sigmoid(x))
struct LogSigmoid : Elementwise<"log_sigmoid", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return (x < 0 ? x : 0) - math::log1p(math::exp(-std::fabs(x))); }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return g * sigmoid(-x); }
};
/// x sigmoid(x)
struct Silu : Elementwise<"silu", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return x * math::sigmoid(x); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    const V s = sigmoid(x);
    return g * (s * (x * (1 - s) + 1));
  }
};
/// log(1 + e^(p x)) / p, or x where p x > q.
struct Softplus : Elementwise<"softplus", FloatTypes, Saves::kInput> {
  template <class T>
  TANDEM_HD static T apply(T x, T p, T q) {
    const T b = x * p;
    return b > q ? x : math::log1p(math::exp(b)) / p;
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x, Number<V> p, Number<V> q) {
    const V b = x * p;
    return select(b > q, g, g * sigmoid(b));
  }
};
/// q max(0, x) + q min(0, p (e^x - 1))
struct Elu : Elementwise<"elu", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x, auto p, auto q) { return x > 0 ? x * q : q * p * math::expm1(x); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x, Number<V> p, Number<V> q) {
    const V low = exp(select(x > 0, 0, x));  // exp of large x would overflow in the second derivative
    return select(x > 0, g * q, g * (low * (p * q)));
  }
};
/// max(0, x) + min(0, p (e^(x/p) - 1))
struct Celu : Elementwise<"celu", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x, auto p) { return x > 0 ? x : p * math::expm1(x / p); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x, Number<V> p) {
    return g * exp(select(x > 0, 0, x) / p);
  }
};
/// x Φ(x), where Φ is the standard normal CDF (Hendrycks and Gimpel, arXiv:1606.08415).
struct Gelu : Elementwise<"gelu", FloatTypes, Saves::kInput> {
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x * (T(0.5) * math::erfc(x * T(-0.70710678118654752)));
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    if constexpr (std::is_floating_point_v<V>) {  // one exponential for Φ and its derivative
      const V a = math::erfc_argument(std::fabs(x) * V(0.70710678118654752)), density = math::exp_minus_square(a);
      const V tail = V(0.5) * density * math::erfc_ratio(a);
      return g * ((x > V(0) ? V(1) - tail : tail) + x * (V(0.3989422804014327) * density));
    } else {
      const V cdf = Number<V>(0.5) * erfc(x * Number<V>(-0.70710678118654752));
      return g * (cdf + x * (Number<V>(0.3989422804014327) * exp(Number<V>(-0.5) * x * x)));
    }
  }
};
/// x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2, computed as x sigmoid(2 √(2/π) (x + 0.044715 x³)) to avoid
/// cancellation.
struct GeluTanh : Elementwise<"gelu", FloatTypes, Saves::kInput> {
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x * math::sigmoid(inner(limit(x, -bound<T>, bound<T>)));
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    const V y = limit(x, -bound<Number<V>>, bound<Number<V>>), s = sigmoid(inner(y));
    const V slope = Number<V>(1.5957691216057308) * (Number<V>(0.134145) * y * y + 1);
    return g * (s + y * (s * (1 - s) * slope));
  }
  template <class V>
  TANDEM_HD static V inner(const V& x) {
    return Number<V>(1.5957691216057308) * (x + Number<V>(0.044715) * x * x * x);
  }
  /// Beyond this |x| the sigmoid is 0 or 1.
  template <class T>
  static constexpr T bound = 30;
};
/// x tanh(log(1 + e^x))
struct Mish : Elementwise<"mish", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return x * math::tanh(math::log1p(math::exp(x))); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    const V t = tanh(log1p(exp(x)));
    return g * (t + x * ((1 - t * t) * sigmoid(x)));
  }
};

}  // namespace tandem::ops
