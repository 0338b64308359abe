// The special functions as elementwise operations; special_math.h has the formulas. Their derivatives are in
// autograd/ops/pointwise/special.cpp.
#pragma once
#include "tandem/core/formulas/elementwise.h"
#include "tandem/core/formulas/special_math.h"

namespace tandem::ops {

/// Op::value is the function of one or two arguments, computed in double.
template <class Op, Literal text>
struct SpecialOp : Elementwise<text, FloatTypes> {
  template <class T>
  TANDEM_HD static T apply(T x, auto... more) {
    return static_cast<T>(Op::value(static_cast<double>(x), static_cast<double>(more)...));
  }
};

struct Lgamma : SpecialOp<Lgamma, "lgamma"> {
  TANDEM_HD static double value(double x) { return special_math::lgamma(x); }
};
struct Digamma : SpecialOp<Digamma, "digamma"> {
  TANDEM_HD static double value(double x) { return special_math::digamma(x); }
};
struct Erfinv : SpecialOp<Erfinv, "erfinv"> {
  TANDEM_HD static double value(double x) { return special_math::erfinv(x); }
};
struct Erfcx : SpecialOp<Erfcx, "erfcx"> {
  TANDEM_HD static double value(double x) { return special_math::erfcx(x); }
};
struct Ndtri : SpecialOp<Ndtri, "ndtri"> {
  TANDEM_HD static double value(double x) { return special_math::ndtri(x); }
};
struct BesselI0 : SpecialOp<BesselI0, "i0"> {
  TANDEM_HD static double value(double x) { return special_math::bessel_i(0, x); }
};
struct BesselI0e : SpecialOp<BesselI0e, "i0e"> {
  TANDEM_HD static double value(double x) { return special_math::scaled_bessel_i(0, x); }
};
struct BesselI1 : SpecialOp<BesselI1, "i1"> {
  TANDEM_HD static double value(double x) { return std::copysign(special_math::bessel_i(1, x), x); }
};
struct BesselI1e : SpecialOp<BesselI1e, "i1e"> {
  TANDEM_HD static double value(double x) { return std::copysign(special_math::scaled_bessel_i(1, x), x); }
};

struct Zeta : SpecialOp<Zeta, "zeta"> {
  TANDEM_HD static double value(double s, double q) { return special_math::zeta(s, q); }
};
struct Igamma : SpecialOp<Igamma, "igamma"> {
  TANDEM_HD static double value(double a, double x) { return special_math::incomplete_gamma(a, x, false); }
};
struct Igammac : SpecialOp<Igammac, "igammac"> {
  TANDEM_HD static double value(double a, double x) { return special_math::incomplete_gamma(a, x, true); }
};

/// A family of polynomials of x by recurrence: Family::first(x) is the member 1, Family::next(x, k, pₖ, pₖ₋₁) the
/// member k + 1. The degree n is rounded towards 0.
template <class Family, Literal text>
struct PolynomialOp : SpecialOp<Family, text> {
  TANDEM_HD static double value(double x, double n) {
    return special_math::recurrence(std::trunc(n), Family::first(x), [x](double k, double last, double before) {
      return Family::next(x, k, last, before);
    });
  }
};
/// The recurrence that the four kinds of Chebyshev polynomials share.
struct ChebyshevFamily {
  TANDEM_HD static double next(double x, double, double value, double before) { return 2 * x * value - before; }
};
struct ChebyshevT : PolynomialOp<ChebyshevT, "chebyshev_polynomial_t">, ChebyshevFamily {
  TANDEM_HD static double first(double x) { return x; }
};
struct ChebyshevU : PolynomialOp<ChebyshevU, "chebyshev_polynomial_u">, ChebyshevFamily {
  TANDEM_HD static double first(double x) { return 2 * x; }
};
struct ChebyshevV : PolynomialOp<ChebyshevV, "chebyshev_polynomial_v">, ChebyshevFamily {
  TANDEM_HD static double first(double x) { return 2 * x - 1; }
};
struct ChebyshevW : PolynomialOp<ChebyshevW, "chebyshev_polynomial_w">, ChebyshevFamily {
  TANDEM_HD static double first(double x) { return 2 * x + 1; }
};
struct HermiteH : PolynomialOp<HermiteH, "hermite_polynomial_h"> {
  TANDEM_HD static double first(double x) { return 2 * x; }
  TANDEM_HD static double next(double x, double k, double value, double before) { return 2 * (x * value - k * before); }
};
struct HermiteHe : PolynomialOp<HermiteHe, "hermite_polynomial_he"> {
  TANDEM_HD static double first(double x) { return x; }
  TANDEM_HD static double next(double x, double k, double value, double before) { return x * value - k * before; }
};
struct LaguerreL : PolynomialOp<LaguerreL, "laguerre_polynomial_l"> {
  TANDEM_HD static double first(double x) { return 1 - x; }
  TANDEM_HD static double next(double x, double k, double value, double before) {
    return ((2 * k + 1 - x) * value - k * before) / (k + 1);
  }
};
struct LegendreP : PolynomialOp<LegendreP, "legendre_polynomial_p"> {
  TANDEM_HD static double first(double x) { return x; }
  TANDEM_HD static double next(double x, double k, double value, double before) {
    return ((2 * k + 1) * x * value - k * before) / (k + 1);
  }
};

}  // namespace tandem::ops
