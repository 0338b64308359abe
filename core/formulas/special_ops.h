// The special functions as elementwise operations; special_math.h has the formulas. Their derivatives are in
// autograd/ops/pointwise/special.cpp.
#pragma once
#include "tandem/core/base/host_device.h"
#include "tandem/core/element_types.h"
#include "tandem/core/formulas/special_math.h"

namespace tandem::ops {

/// Op::value(double) is the function, computed in double.
template <class Op>
struct SpecialOp {
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return static_cast<T>(Op::value(static_cast<double>(x)));
  }
};

struct Lgamma : SpecialOp<Lgamma> {
  static constexpr const char* name = "lgamma";
  TANDEM_HD static double value(double x) { return special_math::lgamma(x); }
};
struct Digamma : SpecialOp<Digamma> {
  static constexpr const char* name = "digamma";
  TANDEM_HD static double value(double x) { return special_math::digamma(x); }
};
struct Erfinv : SpecialOp<Erfinv> {
  static constexpr const char* name = "erfinv";
  TANDEM_HD static double value(double x) { return special_math::erfinv(x); }
};
struct Erfcx : SpecialOp<Erfcx> {
  static constexpr const char* name = "erfcx";
  TANDEM_HD static double value(double x) { return special_math::erfcx(x); }
};
struct Ndtri : SpecialOp<Ndtri> {
  static constexpr const char* name = "ndtri";
  TANDEM_HD static double value(double x) { return special_math::ndtri(x); }
};
struct BesselI0 {
  static constexpr const char* name = "i0";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return static_cast<T>(special_math::bessel_i(0, static_cast<double>(x)));
  }
};
struct BesselI0e {
  static constexpr const char* name = "i0e";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return static_cast<T>(special_math::scaled_bessel_i(0, static_cast<double>(x)));
  }
};
struct BesselI1 {
  static constexpr const char* name = "i1";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::copysign(static_cast<T>(special_math::bessel_i(1, static_cast<double>(x))), x);
  }
};
struct BesselI1e {
  static constexpr const char* name = "i1e";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::copysign(static_cast<T>(special_math::scaled_bessel_i(1, static_cast<double>(x))), x);
  }
};

struct Zeta {
  static constexpr const char* name = "zeta";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T s, T q) {
    return static_cast<T>(special_math::zeta(static_cast<double>(s), static_cast<double>(q)));
  }
};
struct Igamma {
  static constexpr const char* name = "igamma";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T x) {
    return static_cast<T>(special_math::incomplete_gamma(static_cast<double>(a), static_cast<double>(x), false));
  }
};
struct Igammac {
  static constexpr const char* name = "igammac";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T x) {
    return static_cast<T>(special_math::incomplete_gamma(static_cast<double>(a), static_cast<double>(x), true));
  }
};

/// A family of polynomials of x by recurrence: Family::first(x) is the member 1, Family::next(x, k, pₖ, pₖ₋₁) the
/// member k + 1. The degree n is rounded towards 0.
template <class Family>
struct PolynomialOp {
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x, T n) {
    const auto z = static_cast<double>(x);
    return static_cast<T>(special_math::recurrence(
        std::trunc(static_cast<double>(n)), Family::first(z),
        [z](double k, double value, double before) { return Family::next(z, k, value, before); }));
  }
};
/// The recurrence that the four kinds of Chebyshev polynomials share.
struct ChebyshevFamily {
  TANDEM_HD static double next(double x, double, double value, double before) { return 2 * x * value - before; }
};
struct ChebyshevT : PolynomialOp<ChebyshevT>, ChebyshevFamily {
  static constexpr const char* name = "chebyshev_polynomial_t";
  TANDEM_HD static double first(double x) { return x; }
};
struct ChebyshevU : PolynomialOp<ChebyshevU>, ChebyshevFamily {
  static constexpr const char* name = "chebyshev_polynomial_u";
  TANDEM_HD static double first(double x) { return 2 * x; }
};
struct ChebyshevV : PolynomialOp<ChebyshevV>, ChebyshevFamily {
  static constexpr const char* name = "chebyshev_polynomial_v";
  TANDEM_HD static double first(double x) { return 2 * x - 1; }
};
struct ChebyshevW : PolynomialOp<ChebyshevW>, ChebyshevFamily {
  static constexpr const char* name = "chebyshev_polynomial_w";
  TANDEM_HD static double first(double x) { return 2 * x + 1; }
};
struct HermiteH : PolynomialOp<HermiteH> {
  static constexpr const char* name = "hermite_polynomial_h";
  TANDEM_HD static double first(double x) { return 2 * x; }
  TANDEM_HD static double next(double x, double k, double value, double before) { return 2 * (x * value - k * before); }
};
struct HermiteHe : PolynomialOp<HermiteHe> {
  static constexpr const char* name = "hermite_polynomial_he";
  TANDEM_HD static double first(double x) { return x; }
  TANDEM_HD static double next(double x, double k, double value, double before) { return x * value - k * before; }
};
struct LaguerreL : PolynomialOp<LaguerreL> {
  static constexpr const char* name = "laguerre_polynomial_l";
  TANDEM_HD static double first(double x) { return 1 - x; }
  TANDEM_HD static double next(double x, double k, double value, double before) {
    return ((2 * k + 1 - x) * value - k * before) / (k + 1);
  }
};
struct LegendreP : PolynomialOp<LegendreP> {
  static constexpr const char* name = "legendre_polynomial_p";
  TANDEM_HD static double first(double x) { return x; }
  TANDEM_HD static double next(double x, double k, double value, double before) {
    return ((2 * k + 1) * x * value - k * before) / (k + 1);
  }
};

}  // namespace tandem::ops
