// Trigonometric functions, their inverses and the error function, in the style of math.h. float is computed as
// double where that is cheaper than compensating for rounding errors.
#pragma once
#include "tandem/core/formulas/math.h"

namespace tandem::math {

/// reduce_angle() is for arguments up to this magnitude.
inline constexpr double max_angle = 1e5;

/// x - k π/2 with |result| <= π/4, for |x| <= max_angle.
TANDEM_HD inline double reduce_angle(double x, int64_t& k) {
  const double n = round_to(x * 0.63661977236758138, k);
  // π/2 in three parts. The first two have 33 bits, so their products with n are exact.
  const double r = fma(n, -0x1.921fb544p0, x);
  return fma(n, -0x1.3198a2e037073p-69, fma(n, -0x1.0b4611a6p-34, r));
}
/// The same for |x| > max_angle (M. H. Payne, R. N. Hanek, "Radian reduction for trigonometric functions", 1983): x is an
/// integer times a power of two. Of 2/π, it multiplies the bits that give the last two of k and the fraction.
TANDEM_HD inline double reduce_huge_angle(double x, int64_t& k) {
  constexpr uint64_t two_over_pi[] = {0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
                                      0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
                                      0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
                                      0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
                                      0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
  const uint64_t bits = std::bit_cast<uint64_t>(std::fabs(x)), one = uint64_t{1} << 52,
                 integer = (bits & (one - 1)) | one;
  const int first = static_cast<int>(bits >> 52) - 1013, word = first >> 6, shift = first & 63;
  uint64_t factor[3];
  for (int i = 0; i < 3; ++i)
    factor[i] = two_over_pi[word + i] << shift | two_over_pi[word + i + 1] >> 1 >> (63 - shift);
  // The product in units of 2^-126 quarter turns, without multiples of four.
  const uint64_t carried = multiply_high(integer, factor[2]);
  uint64_t low = integer * factor[1] + carried;
  uint64_t high = integer * factor[0] + multiply_high(integer, factor[1]) + (low < carried ? 1 : 0);
  const uint64_t quarters = (high + (uint64_t{1} << 61)) >> 62;
  high -= quarters << 62;
  const bool negative = high >> 63 != 0;
  if (negative) {
    low = 0 - low;
    high = ~high + (low == 0 ? 1 : 0);
  }
  const double a = static_cast<double>(high & ~uint64_t{1023}) * 0x1p-62;
  const double b = (static_cast<double>(high & 1023) + static_cast<double>(low) * 0x1p-64) * 0x1p-62;
  const double half_pi = 1.5707963267948966, product = a * half_pi;
  const double r = product + (fma(a, half_pi, -product) + fma(a, 6.123233995736766e-17, b * half_pi));
  k = static_cast<int64_t>(x < 0 ? 0 - quarters : quarters);
  return (negative != (x < 0) ? -r : r) + (x - x);  // NaN for infinity
}
/// sin and cos of |r| <= π/4.
TANDEM_HD inline double sin_small(double r) {
  const double z = r * r;
  return fma(r * z,
             polynomial(z, -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800, 1. / 6227020800,
                        -1. / 1307674368000, 1. / 355687428096000),
             r);
}
TANDEM_HD inline double cos_small(double r) {
  const double z = r * r;
  return fma(z * z,
             polynomial(z, 1. / 24, -1. / 720, 1. / 40320, -1. / 3628800, 1. / 479001600, -1. / 87178291200,
                        1. / 20922789888000, -1. / 6402373705728000),
             fma(z, -0.5, 1.));
}
/// sin(x + quarter π/2). Here and in tan(), `huge` says that |x| > max_angle.
template <bool huge = false, class T>
TANDEM_HD inline T sine(T x, int64_t quarter) {
  int64_t k;
  const double y = static_cast<double>(x), r = huge ? reduce_huge_angle(y, k) : reduce_angle(y, k);
  k += quarter;
  const double s = sin_small(r), c = cos_small(r);
  const double value = (k & 1) != 0 ? c : s;
  return static_cast<T>((k & 2) != 0 ? -value : value);
}
template <class T>
TANDEM_HD inline T sin(T x) {
  return sine(x, 0);
}
template <class T>
TANDEM_HD inline T cos(T x) {
  return sine(x, 1);
}
/// sine() for any x, with a branch.
TANDEM_HD inline double sine_of_any(double x, int64_t quarter) {
  return std::fabs(x) <= max_angle ? sine(x, quarter) : sine<true>(x, quarter);
}
template <bool huge = false, class T>
TANDEM_HD inline T tan(T x) {
  int64_t k;
  const double y = static_cast<double>(x), r = huge ? reduce_huge_angle(y, k) : reduce_angle(y, k);
  const double s = sin_small(r), c = cos_small(r);
  const T value = static_cast<T>((k & 1) != 0 ? -c / s : s / c);
  return x == T(0) ? x : value;
}

/// atan(a) for a in [0, ∞]. Above 1, it is computed from 1/a; a rotation by π/6 then ensures |t| <= tan(π/12).
TANDEM_HD inline double atan_positive(double a) {
  const bool large = a > 1;
  const double b = large ? 1 / a : a;
  const bool turned = b > 0.2679491924311227;
  const double t = turned ? (b * 1.7320508075688772 - 1) / (b + 1.7320508075688772) : b;
  const double z = t * t;
  const double p = polynomial(z, -1. / 3, 1. / 5, -1. / 7, 1. / 9, -1. / 11, 1. / 13, -1. / 15, 1. / 17, -1. / 19,
                              1. / 21, -1. / 23, 1. / 25, -1. / 27);
  const double angle = fma(t * z, p, t) + (turned ? 0.52359877559829887 : 0.);
  return large ? 1.5707963267948966 - angle : angle;
}
template <class T>
TANDEM_HD inline T atan(T x) {
  const double y = static_cast<double>(x);
  return static_cast<T>(std::copysign(atan_positive(std::fabs(y)), y));
}
/// The angle of the point (x, y).
template <class T>
TANDEM_HD inline T atan2(T y, T x) {
  const double a = std::fabs(static_cast<double>(y)), b = std::fabs(static_cast<double>(x));
  const bool steep = a > b;
  const double small = steep ? b : a, large = steep ? a : b;
  double angle = atan_positive(a + b == 0 ? 0. : small == large ? 1. : small / large);  // also of two infinities
  angle = steep ? (1.5707963267948966 - angle) + 6.123233995736766e-17 : angle;
  angle = std::copysign(1., static_cast<double>(x)) < 0 ? (3.141592653589793 - angle) + 1.2246467991473532e-16 : angle;
  return static_cast<T>(std::copysign(angle, static_cast<double>(y)));
}
/// The length of (x, y), without overflow in between.
TANDEM_HD inline float hypot(float x, float y) {
  const double a = static_cast<double>(x), b = static_cast<double>(y), length = std::sqrt(fma(a, a, b * b));
  return static_cast<float>(std::fabs(a) == HUGE_VAL || std::fabs(b) == HUGE_VAL ? HUGE_VAL : length);
}
/// C. F. Borges: An improved algorithm for hypot(a, b). 2019.
TANDEM_HD inline double hypot(double x, double y) {
  const double larger = std::fabs(x) > std::fabs(y) ? std::fabs(x) : std::fabs(y);
  const double scale = larger > 0x1p510 ? 0x1p-600 : larger < 0x1p-400 ? 0x1p600 : 1.;
  const double a = larger * scale, b = (std::fabs(x) > std::fabs(y) ? std::fabs(y) : std::fabs(x)) * scale;
  const double h = std::sqrt(fma(a, a, b * b)), square = h * h, part = a * a;
  const double error = fma(-b, b, square - part) + fma(h, h, -square) - fma(a, a, -part);
  const double length = (h == 0 ? 0. : h - error / (2 * h)) / scale;
  return std::fabs(x) == HUGE_VAL || std::fabs(y) == HUGE_VAL ? HUGE_VAL : length;
}
template <class T>
TANDEM_HD inline T asin(T x) {
  const double y = static_cast<double>(x), a = std::fabs(y);
  return static_cast<T>(std::copysign(atan_positive(a / std::sqrt((1 - a) * (1 + a))), y));
}
template <class T>
TANDEM_HD inline T acos(T x) {
  const double y = static_cast<double>(x);
  return static_cast<T>(2 * atan_positive(std::sqrt((1 - y) / (1 + y))));
}

/// erf(x) for |x| <= 1.
template <class T>
TANDEM_HD inline T erf_small(T x) {
  constexpr double c = 1.1283791670955126;  // 2 / √π
  const T z = x * x;
  if constexpr (sizeof(T) == 4)
    return x * polynomial(z, c, -c / 3, c / 10, -c / 42, c / 216, -c / 1320, c / 9360, -c / 75600, c / 685440,
                          -c / 6894720, c / 76204800);
  else
    return x * polynomial(z, c, -c / 3, c / 10, -c / 42, c / 216, -c / 1320, c / 9360, -c / 75600, c / 685440,
                          -c / 6894720, c / 76204800, -c / 918086400, c / 11975040000, -c / 168129561600,
                          c / 2528170444800, -c / 40537905408000, c / 690452066304000, -c / 12449059983360000);
}
/// x, but at most the largest argument of erfc_positive, whose result is 0 after rounding.
template <class T>
TANDEM_HD inline T erfc_argument(T x) {
  constexpr T end = sizeof(T) == 4 ? 11 : 28;
  return x > end ? T(end) : x;
}
/// e^(a²) erfc(a) = t P(t) for a from 0 to the end of erfc_argument, with t = 2 / (2 + a)
/// and P fitted at Chebyshev nodes.
template <class T>
TANDEM_HD inline T erfc_ratio(T a) {
  const T t = T(2) / (T(2) + a);
  T p;
  if constexpr (sizeof(T) == 4)
    p = polynomial(fma(t, T(26. / 11), T(-15. / 11)), 0.56701729477701755, 0.32805801517600248, 0.10490059954643547,
                   0.0066372730142970162, -0.0064889087282164143, -0.00072859140076980493, 0.00065271802017334893,
                   1.4933652978952292e-5, -7.6101932130435749e-5, 6.4386748646794549e-6, 6.3315501835453666e-6);
  else
    p = polynomial(
        fma(t, T(15. / 7), T(-8. / 7)), 0.53432294013269322977, 0.33827892810777677407, 0.12464235007162021849,
        0.012373178041203208366, -0.0088998342734189384167, -0.0018328807504931017763, 0.001123272367333565566,
        0.00014901183588519532265, -0.00018906135039048367964, 0.000014081898553696906713, 0.000028690848852714981356,
        -0.000010796819430398306868, -1.8787012720126128688e-6, 2.7912669948069934511e-6, -7.1098962084610318778e-7,
        -2.8474032416993062671e-7, 2.8367833137074815713e-7, -7.5825767464652275911e-8, -3.087585374424315044e-8,
        3.9136669348138053463e-8, -9.977672823106763355e-9, -7.4482477510514380901e-9, 4.3641066279200272813e-9,
        5.6557277362201289027e-10, -5.6310180774635728024e-10);
  return t * p;
}
/// e^(-a²) without the error of rounding a².
template <class T>
TANDEM_HD inline T exp_minus_square(T a) {
  const T square = a * a, lost = fma(a, a, -square);
  return exp(-square) * (T(1) - lost);
}
/// erfc(a) for such a.
template <class T>
TANDEM_HD inline T erfc_positive(T a) {
  return exp_minus_square(a) * erfc_ratio(a);
}
/// min(max(x, 0), high), without a comparison with 0, because compilers would split the loop at it.
template <class T>
TANDEM_HD inline T positive_part(T x, T high) {
  const T y = T(0.5) * (x + std::fabs(x));
  return y > high ? high : y;
}
template <class T>
TANDEM_HD inline T erf(T x) {
  const T a = std::fabs(x), beyond = positive_part(a - T(1), T(7));
  const T outside = std::copysign(T(1) - erfc_positive(T(1) + beyond), x), inside = erf_small(x);
  return a >= T(1) ? outside : inside;
}
/// 1 - erf(x)
template <class T>
TANDEM_HD inline T erfc(T x) {
  const T tail = erfc_positive(erfc_argument(std::fabs(x)));
  return x > T(0) ? tail : T(2) - tail;
}

}  // namespace tandem::math
