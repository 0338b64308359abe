// Exponentials, logarithms and the error function. gradient() returns g times the derivative, computed from what the
// forward saved: its input x or its output y.
#pragma once
#include "tandem/core/formulas/elementwise.h"
#include "tandem/core/formulas/math_powers.h"
#include "tandem/core/formulas/value.h"

namespace tandem::ops {

struct Exp : Elementwise<"exp", FloatTypes, Saves::kOutput> {
  TANDEM_HD static auto apply(auto x) { return math::exp(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& y) { return g * y; }
};
struct Exp2 : Elementwise<"exp2", FloatTypes, Saves::kOutput> {
  TANDEM_HD static auto apply(auto x) { return math::exp2(x); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& y) {
    return g * (y * Number<V>(0.6931471805599453));
  }
};
struct Expm1 : Elementwise<"expm1", FloatTypes, Saves::kOutput> {
  TANDEM_HD static auto apply(auto x) { return math::expm1(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& y) { return g * (y + 1); }
};
struct Log : Elementwise<"log", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::log(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return g / x; }
};
struct Log2 : Elementwise<"log2", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::log2(x); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g / (x * Number<V>(0.6931471805599453));
  }
};
struct Log10 : Elementwise<"log10", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::log10(x); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g / (x * Number<V>(2.302585092994046));
  }
};
struct Log1p : Elementwise<"log1p", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::log1p(x); }
  TANDEM_HD static auto gradient(const auto& g, const auto& x) { return g / (x + 1); }
};
/// 2/√π ∫ e^(-t²) dt from 0 to x
struct Erf : Elementwise<"erf", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::erf(x); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g * (Number<V>(1.1283791670955126) * exp(-x * x));
  }
};
struct Erfc : Elementwise<"erfc", FloatTypes, Saves::kInput> {
  TANDEM_HD static auto apply(auto x) { return math::erfc(x); }
  template <class V>
  TANDEM_HD static V gradient(const V& g, const V& x) {
    return g * (Number<V>(-1.1283791670955126) * exp(-x * x));
  }
};

}  // namespace tandem::ops
