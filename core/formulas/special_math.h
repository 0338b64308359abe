// Special functions in double precision, for host and device. float32 results are computed in double and rounded.
//
// Relative errors are a few units in the last place of double where the functions have no zero nearby. Sources: A&S is
// Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964; DLMF is the NIST Digital Library of Mathematical
// Functions.
#pragma once
#include <cmath>
#include <limits>

#include "tandem/core/base/host_device.h"
#include "tandem/core/formulas/math.h"
#include "tandem/core/formulas/math_angles.h"
#include "tandem/core/formulas/math_powers.h"

namespace tandem::special_math {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                        kNan = std::numeric_limits<double>::quiet_NaN(),
                        kEpsilon = std::numeric_limits<double>::epsilon(), kPi = 3.14159265358979323846,
                        kRootHalf = 0.70710678118654752440;

/// log Γ(1 + a) for |a| <= 1/2, fitted at Chebyshev nodes.
TANDEM_HD inline double lgamma_near_1(double a) {
  return a * math::polynomial(a, -0.5772156649015329, 0.8224670334241132, -0.4006856343865307, 0.27058080842778387,
                              -0.2073855510288846, 0.16955717699761294, -0.1440498967441441, 0.1255096695007263,
                              -0.11133426738296036, 0.10009945898417442, -0.09095396147817056, 0.08335378642428555,
                              -0.07693384797749431, 0.07143424085913012, -0.0666469660070385, 0.06247981994150854,
                              -0.059073275414740396, 0.055798122160668526, -0.05059570584998663, 0.048020858519722875,
                              -0.059467630506988924, 0.056971969494995923, 0.004945338328244218, -0.005399712296235696,
                              -0.17396451715070047, 0.1686556126817108, 0.19472176853583203, -0.18947756655876552,
                              -0.24025245552681862, 0.2331921266866054);
}
/// log Γ(2 + a) for |a| <= 1/2, likewise.
TANDEM_HD inline double lgamma_near_2(double a) {
  return a * math::polynomial(a, 0.42278433509846713, 0.32246703342411326, -0.0673523010531981, 0.02058080842778038,
                              -0.0073855510286719986, 0.002890510331034267, -0.0011927539118428156,
                              0.0005096695154115458, -0.00022315475400520507, 9.945767355819498e-05,
                              -4.49263133791557e-05, 2.0505590755833454e-05, -9.438715099211532e-06,
                              4.38470440459836e-06, -2.0439048107029907e-06, 9.200527894968101e-07,
                              -4.3252393445604814e-07, 2.78740805211359e-07, -1.3219945666117874e-07);
}
/// log Γ(x) for x >= 1/2: Γ(x + 1) = x Γ(x), and from 10 on Stirling's series (A&S 6.1.41).
TANDEM_HD inline double lgamma_positive(double x) {
  if (x < 1.5) return lgamma_near_1(x - 1) + 0;  // not -0
  if (x < 10) {
    double product = 1;
    for (; x >= 2.5; product *= x) x -= 1;
    const double rest = lgamma_near_2(x - 2);
    return product == 1 ? rest : math::log(product) + rest;
  }
  const double z = 1 / (x * x);
  const double tail =
      (1. / 12 - z * (1. / 360 - z * (1. / 1260 - z * (1. / 1680 - z * (1. / 1188 - z * 691 / 360360))))) / x;
  return (x - 0.5) * (math::log(x) - 1) + (0.41893853320467274178 + tail);
}
/// log |Γ(x)|, below -1/2 by the reflection A&S 6.1.17.
TANDEM_HD inline double lgamma(double x) {
  if (x >= 0.5 || x != x) return lgamma_positive(x);
  const double a = std::fabs(x);
  if (a <= 0.5) return lgamma_near_1(x) - math::log(a);
  if (a == std::floor(a)) return kInfinity;
  const double rest = a - std::floor(a), sine = math::sin(kPi * (rest < 0.5 ? rest : 1 - rest));
  return math::log(kPi / (a * sine)) - lgamma_positive(a);
}

/// Γ'(x) / Γ(x): A&S 6.3.5 up to x = 10, the asymptotic series 6.3.18 there, and the reflection 6.3.7 below 0.
TANDEM_HD inline double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  double sum = 0;
  if (x < 0) {
    if (x == std::floor(x)) return kNan;
    sum = -kPi / math::tan(kPi * (x - std::trunc(x)));
    x = 1 - x;
  }
  for (; x < 10; x += 1) sum -= 1 / x;
  const double z = 1 / (x * x);
  const double tail =
      z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z / 12))))));
  return sum + math::log(x) - 0.5 / x - (x < 1e17 ? tail : 0);
}

/// y with erf(y) = x: Winitzki's approximation, improved by Halley's method on erf, or on erfc for |x| > 1/2.
TANDEM_HD inline double erfinv(double x) {
  const double a = std::fabs(x), rest = 1 - a;
  if (!(a < 1)) return a == 1 ? std::copysign(kInfinity, x) : kNan;
  const double l = math::log1p(-a * a), b = 4.3307467508 + 0.5 * l;
  double y = std::sqrt(std::sqrt(b * b - l / 0.147) - b);
  for (int i = 0; i < 3; ++i) {
    const double error = a < 0.5 ? math::erf(y) - a : rest - math::erfc(y);
    const double step = error * 0.88622692545275801 * math::exp(y * y);
    y -= step / (1 + y * step);
  }
  return a < 1e-150 ? x * 0.88622692545275801 : std::copysign(y, x);
}

/// e^(x²) with the rounding error of x² corrected.
TANDEM_HD inline double exp_square(double x) {
  const double square = x * x;
  return square > 709.8 ? kInfinity : math::exp(square) * (1 + std::fma(x, x, -square));
}
/// e^(x²) erfc(x): from 2 on, the continued fraction A&S 7.1.14.
TANDEM_HD inline double erfcx(double x) {
  if (x < 2) return x < -26.7 ? kInfinity : exp_square(x) * math::erfc(x);
  if (x > 1e8) return 0.56418958354775629 / x;
  double tail = x;
  for (int k = 100; k > 0; --k) tail = x + 0.5 * k / tail;
  return 0.56418958354775629 / tail;
}

/// y with Φ(y) = p: A&S 26.2.23 in the tails, improved by Halley's method.
TANDEM_HD inline double ndtri(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -kInfinity : p == 1 ? kInfinity : kNan;
  if (p > 0.25 && p < 0.75) return erfinv(2 * p - 1) / kRootHalf;
  const double tail = p < 0.5 ? p : 1 - p, t = std::sqrt(-2 * math::log(tail));
  double y = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int i = 0; i < 3; ++i) {
    const double step = (0.5 * math::erfc(y * kRootHalf) - tail) * 2.5066282746310005 * math::exp(0.5 * y * y);
    y += step / (1 - 0.5 * y * step);
  }
  return p < 0.5 ? -y : y;
}

/// e^-|x| I₀(x) for order 0 and e^-|x| I₁(|x|) for order 1: the power series A&S 9.6.10 up to 20, then the asymptotic
/// series 9.7.1.
TANDEM_HD inline double scaled_bessel_i(int order, double x) {
  const double a = std::fabs(x);
  double term = order == 0 ? 1 : 0.5 * a, sum = 0;
  if (a <= 20) {
    sum = term;
    for (int k = 1; k < 100 && term > 0.1 * kEpsilon * sum; ++k) {
      term *= 0.25 * a * a / (k * static_cast<double>(k + order));
      sum += term;
    }
    return sum * math::exp(-a);
  }
  if (a == kInfinity) return 0;
  sum = term = 1;
  for (int k = 1; k < 40 && std::fabs(term) > 0.1 * kEpsilon; ++k) {
    const double odd = 2 * k - 1;
    term *= (odd * odd - 4 * order) / (8 * a * k);
    sum += term;
  }
  return a < 1e300 ? sum / std::sqrt(2 * kPi * a) : sum / std::sqrt(2 * kPi) / std::sqrt(a);  // 2 π a may overflow
}
TANDEM_HD inline double bessel_i(int order, double x) {
  const double half = math::exp(0.5 * std::fabs(x));
  return std::fabs(x) == kInfinity ? kInfinity : half * scaled_bessel_i(order, x) * half;
}

/// The Hurwitz zeta function Σ (n + q)^-s, n >= 0, by Euler's and Maclaurin's formula (DLMF 25.11.28).
TANDEM_HD inline double zeta(double s, double q) {
  if (s == 1) return kInfinity;
  if (!(s > 1) || q != q) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (s != std::floor(s)) return kNan;  // a power of a negative number
  }
  double sum = 0, w = q;
  for (int n = 0; n < 10 || w < 10; ++n, w += 1) {
    const double term = math::pow(w, -s);
    sum += term;
    if (w > 0 && term < 0.1 * kEpsilon * std::fabs(sum) / (1 + w)) return sum;
  }
  const double last = math::pow(w, -s);
  sum += (last > 1e-290 ? last * w : math::pow(w, 1 - s)) / (s - 1) + 0.5 * last;  // w^-s may underflow alone
  if (last == 0) return sum;
  // B₂ₖ / (2k)!
  constexpr double numbers[] = {1. / 12,
                                -1. / 720,
                                1. / 30240,
                                -1. / 1209600,
                                1. / 47900160,
                                -691. / 1307674368000.,
                                1. / 74724249600.,
                                -3617. / 10670622842880000.,
                                43867. / 5109094217170944000.};
  double factor = s * last / w;
  for (int k = 0; k < 9; ++k) {
    const double term = numbers[k] * factor;
    sum += term;
    if (std::fabs(term) < 0.1 * kEpsilon * std::fabs(sum)) break;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (w * w);
  }
  return sum;
}

/// log(1 + m) - m
TANDEM_HD inline double log1p_minus(double m) {
  if (std::fabs(m) > 0.3) return math::log1p(m) - m;
  double power = m, sum = 0;
  for (int k = 2; k < 60; ++k) {
    power *= -m;
    const double term = power / k;
    sum += term;
    if (std::fabs(term) <= 0.1 * kEpsilon * std::fabs(sum)) break;
  }
  return sum;
}
/// log Γ(1 + a) for a >= 0.
TANDEM_HD inline double lgamma_after_1(double a) { return a < 0.5 ? lgamma_near_1(a) : lgamma_positive(a + 1); }
/// x^a e^-x / Γ(a + 1), by Stirling's series (A&S 6.1.41) from a = 10 on.
TANDEM_HD inline double gamma_density(double a, double x) {
  if (a < 10) return math::exp(a * math::log(x) - x - lgamma_after_1(a));
  const double z = 1 / (a * a);
  const double correction =
      (1. / 12 - z * (1. / 360 - z * (1. / 1260 - z * (1. / 1680 - z * (1. / 1188 - z * 691 / 360360))))) / a;
  const double m = (x - a) / a, logarithm = m < -0.9 ? math::log(x / a) - m : log1p_minus(m);
  return math::exp(a * logarithm - correction) / std::sqrt(2 * kPi * a);
}
/// The regularised incomplete gamma functions: lower P(a, x), or upper Q(a, x) = 1 - P. Below a + 1 the series A&S
/// 6.5.29, above it the continued fraction 6.5.31 by Lentz's method; for Q and small x, the series 6.5.33.
TANDEM_HD inline double incomplete_gamma(double a, double x, bool upper) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0)) return kNan;
  if (a == kInfinity) return x == kInfinity ? kNan : upper ? 1 : 0;
  if (x == 0) return upper ? 1 : 0;
  if (a == 0 || x == kInfinity) return upper ? 0 : 1;
  constexpr int kMaxTerms = 100000;
  if (upper && x <= 1.1 && a < 1.1) {
    double power = 1, sum = 0;
    for (int n = 1; n < 60; ++n) {
      power *= -x / n;
      sum += power / (a + n);
    }
    const double logarithm = a * math::log(x) - lgamma_after_1(a);
    return -math::expm1(logarithm) - math::exp(logarithm) * a * sum;
  }
  if (x < a + 1) {
    double term = 1, sum = 1;
    for (int n = 1; n < kMaxTerms && term > 0.1 * kEpsilon * sum; ++n) {
      term *= x / (a + n);
      sum += term;
    }
    const double lower = gamma_density(a, x) * sum;
    return upper ? 1 - lower : lower;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
  for (int n = 1; n < kMaxTerms; ++n) {
    const double numerator = n * (a - n);
    b += 2;
    d = 1 / (b + numerator * d);
    c = b + numerator / c;
    const double factor = c * d;
    fraction *= factor;
    if (std::fabs(factor - 1) < kEpsilon) break;
  }
  const double rest = gamma_density(a, x) * a * fraction;
  return upper ? rest : 1 - rest;
}

/// p₀ = 1, p₁ = first, pₖ₊₁ = next(k, pₖ, pₖ₋₁): member n of a family of polynomials (A&S 22.7). 0 for negative n.
template <class Next>
TANDEM_HD inline double recurrence(double n, double first, Next next) {
  if (n != n) return kNan;
  if (n < 0) return 0;
  if (n < 1) return 1;
  double before = 1, value = first;
  for (double k = 1; k + 1 <= n && value == value; k += 1) {
    const double after = next(k, value, before);
    before = value;
    value = after;
  }
  return value;
}

}  // namespace tandem::special_math
