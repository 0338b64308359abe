// Exponentials, logarithms and the error function. gradient() returns g times the derivative, computed from what the
// forward saved: its input x or its output y.
#pragma once
#include "tandem/core/base/host_device.h"
#include "tandem/core/element_types.h"
#include "tandem/core/formulas/value.h"

namespace tandem::ops {

struct Exp {
  static constexpr const char* name = "exp";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kOutput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::exp(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& y) {
    return g * y;
  }
};
struct Exp2 {
  static constexpr const char* name = "exp2";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kOutput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::exp2(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& y) {
    return g * (y * Number<V>(0.6931471805599453));
  }
};
struct Expm1 {
  static constexpr const char* name = "expm1";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kOutput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::expm1(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& y) {
    return g * (y + 1);
  }
};
struct Log {
  static constexpr const char* name = "log";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::log(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g / x;
  }
};
struct Log2 {
  static constexpr const char* name = "log2";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::log2(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g / (x * Number<V>(0.6931471805599453));
  }
};
struct Log10 {
  static constexpr const char* name = "log10";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::log10(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g / (x * Number<V>(2.302585092994046));
  }
};
struct Log1p {
  static constexpr const char* name = "log1p";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::log1p(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g / (x + 1);
  }
};
/// 2/√π ∫ e^(-t²) dt from 0 to x
struct Erf {
  static constexpr const char* name = "erf";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::erf(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g * (Number<V>(1.1283791670955126) * exp(-x * x));
  }
};
struct Erfc {
  static constexpr const char* name = "erfc";
  using Types = FloatTypes;
  static constexpr Saves saves = Saves::kInput;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return math::erfc(x);
  }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g * (Number<V>(-1.1283791670955126) * exp(-x * x));
  }
};

}  // namespace tandem::ops
