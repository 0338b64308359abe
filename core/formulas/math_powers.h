// Powers and logarithms to the base 10, in the style of math.h: errors are below 0.51 (float) and 0.8 (double) units in
// the last place.
//
// x^y = 2^(y log2 x), where y log2 x has more bits than the result: the numbers for float are double, and those for
// double have a low part (T. J. Dekker, "A floating-point technique for extending the available precision", 1971).
// Polynomials are fitted at Chebyshev nodes.
#pragma once
#include "tandem/core/formulas/math.h"

namespace tandem::math {

/// high + low, where |low| is at most the rounding error of high.
struct Extended {
  double high, low;
};

/// a b + c, rounded once where the result is a rounding error.
TANDEM_HD inline double exact_fma(double a, double b, double c) {
#if defined(__FMA__) || defined(__aarch64__) || defined(__CUDA_ARCH__)
  return std::fma(a, b, c);
#else
  const double p = a * 0x1.0000002p27, q = b * 0x1.0000002p27;  // the high parts have 26 bits
  const double a1 = p - (p - a), b1 = q - (q - b), a2 = a - a1, b2 = b - b1, product = a * b;
  return (product + c) + (((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2);
#endif
}
/// (a.high + a.low) (high + low)
TANDEM_HD inline Extended product(Extended a, double high, double low) {
  const double p = a.high * high;
  return {p, exact_fma(a.high, high, -p) + (a.high * low + a.low * high)};
}
/// (high + low) + x, |high| > |x|.
TANDEM_HD inline Extended sum(double high, double low, Extended x) {
  const double s = high + x.high;
  return {s, ((high - s) + x.high) + (x.low + low)};
}

/// Splits x = 2^e (1 + f) with 1 + f in [√½, √2) for positive, finite x.
TANDEM_HD inline double split(double x, double& e) {
  constexpr uint64_t root = std::bit_cast<uint64_t>(0.70710678118654752), one = std::bit_cast<uint64_t>(1.);
  const bool subnormal = x < 0x1p-1022;
  const uint64_t bits = std::bit_cast<uint64_t>(subnormal ? x * 0x1p54 : x), shifted = bits + (one - root);
  // The exponent in the low bits of 2^52: processors without a conversion from 64 bits vectorise that.
  e = std::bit_cast<double>(shifted >> 52 | std::bit_cast<uint64_t>(0x1p52)) -
      (subnormal ? 0x1p52 + 1077 : 0x1p52 + 1023);
  return std::bit_cast<double>((shifted & ((uint64_t{1} << 52) - 1)) + root) - 1;
}
/// log2 x for positive, finite x that is normal in float: the relative error is below 2^-44.
TANDEM_HD inline double log2_of_float(double x) {
  double e;
  const double f = split(x, e), s = f / (2 + f);
  return fma(s,
             polynomial(s * s, 2.8853900817778504, 0.9617966941123595, 0.5770779426302618, 0.41220922733052445,
                        0.3199066608891474, 0.28288718263073565),
             e);
}
/// log2 x for positive, finite x: the relative error is below 2^-63. log2 (1 + f) = 2 / ln 2 atanh(s), s = f / (2 + f).
TANDEM_HD inline Extended log2_extended(double x) {
  double e;
  const double f = split(x, e), d = 2 + f, lost = f - (d - 2), inverse = 1 / d, s = f * inverse;
  const double s_low = (exact_fma(-s, d, f) - s * lost) * inverse;
  const double z = s * s, z_low = exact_fma(s, s, -z) + 2 * s * s_low;
  const double rest = z * polynomial(z, 0.5770780163555853, 0.4121985831111439, 0.3205988979671547, 0.2623081914681522,
                                     0.2219527885851067, 0.19238056603036385, 0.16888529114458137, 0.16912971664122153);
  const Extended third = sum(0x1.ec709dc3a03fdp-1, 0x1.d27f05548af0cp-55, {rest, 0});
  const Extended factor = sum(0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55, product(third, z, z_low));
  return sum(e, 0, product(factor, s, s_low));
}

/// log2 of a >= 0, given that of positive, finite a.
TANDEM_HD inline double log2_edges(double a, double inside) {
  const double value = a == HUGE_VAL ? HUGE_VAL : inside;
  return a == 0 ? -HUGE_VAL : value;
}
/// x^y with the special cases of C's pow, given |x|^y where it has none.
TANDEM_HD inline double power_edges(double x, double y, double inside) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const double a = abs(x), half = 0.5 * y, whole = std::floor(y);
  const double sign = std::floor(half) != half ? x : 1.;  // of integer powers
  const double of_fraction = x >= 0 ? 1. : a == HUGE_VAL ? 1. : nan;
  const double factor = whole == y ? sign : of_fraction, magnitude = a == 1 ? 1. : inside;
  double value = factor == factor ? std::copysign(magnitude, factor) : nan;
  value = x == x ? value : nan;
  value = y == y ? value : nan;
  value = x == 1 ? 1. : value;
  return y == 0 ? 1. : value;
}
TANDEM_HD inline float pow(float base, float exponent) {
  const double x = static_cast<double>(base), y = static_cast<double>(exponent), a = abs(x);
  int64_t n;
  const double p = limit(y * log2_edges(a, log2_of_float(a)), -200., 200.), r = p - round_to(p, n);
  const double power =
      polynomial(r, 1., 0.6931471805459312, 0.24022650695812972, 0.055504109412149075, 0.009618129159408776,
                 0.0013333450559384846, 0.00015403455846485034, 1.531008169985458e-05, 1.3255226470378598e-06);
  return static_cast<float>(power_edges(x, y, power * power_of_two<double>(n)));
}
TANDEM_HD inline double pow(double x, double y) {
  const double a = abs(x);
  const Extended finite = log2_extended(a);
  const double logarithm = log2_edges(a, finite.high), product = y * logarithm;
  const double lost = exact_fma(y, logarithm, -product) + y * finite.low, p = limit(product, -1100., 1100.);
  const double low = p == product ? lost : 0.;
  int64_t n;
  const double r = p - round_to(p, n), ln2 = 0x1.62e42fefa39efp-1;
  // 2^(r + low) = 1 + u + (tail + u_low 2^r), u = r ln 2
  const double u = r * ln2, u_low = exact_fma(r, ln2, -u) + fma(low, ln2, r * 0x1.abc9e3b39803fp-56);
  const double tail =
      r * r *
      polynomial(r, 0.24022650695910072, 0.0555041086648216, 0.009618129107628479, 0.0013333558146416933,
                 0.0001540353039337591, 1.5252733829839213e-05, 1.3215486802905462e-06, 1.0178062443959398e-07,
                 7.0548999554389264e-09, 4.454960975460706e-10, 2.5725082444272935e-11);
  const double high = 1 + u, power = high + (((1 - high) + u) + fma(u_low, high + tail, tail));
  return power_edges(x, y, scaled(power, n));
}

TANDEM_HD inline float log10(float x) {
  return log_edges(x, static_cast<float>(log2_of_float(static_cast<double>(x)) * 0.30102999566398119521));
}
TANDEM_HD inline double log10(double x) {
  const Extended y = product(log2_extended(x), 0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59);
  return log_edges(x, y.high + y.low);
}

}  // namespace tandem::math
