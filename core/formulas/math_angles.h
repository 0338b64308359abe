// Trigonometric functions, their inverses and the error function, in the style of math.h. float is computed as
// double where that is cheaper than compensating for rounding errors.
#pragma once
#include "tandem/core/formulas/math.h"

namespace tandem::math {

/// Arguments up to this magnitude are reduced to [-π/4, π/4] without loss; beyond it, use the standard library.
inline constexpr double max_angle = 1e5;

/// x - k π/2 with |result| <= π/4, for |x| <= max_angle.
TANDEM_HD inline double reduce_angle(double x, int64_t& k) {
  const double n = round_to(x * 0.63661977236758138, k);
  // π/2 in three parts. The first two have 33 bits, so their products with n are exact.
  const double r = fma(n, -0x1.921fb544p0, x);
  return fma(n, -0x1.3198a2e037073p-69, fma(n, -0x1.0b4611a6p-34, r));
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
/// sin(x + quarter π/2).
template <class T>
TANDEM_HD inline T sine(T x, int64_t quarter) {
  int64_t k;
  const double r = reduce_angle(static_cast<double>(x), k);
  k += quarter;
  const double s = sin_small(r), c = cos_small(r);
  const double value = (k & 1) != 0 ? c : s;
  return static_cast<T>((k & 2) != 0 ? -value : value);
}
template <class T>
TANDEM_HD inline T sin(T x) {
#ifdef __CUDA_ARCH__
  return ::sin(x);
#else
  return sine(x, 0);
#endif
}
template <class T>
TANDEM_HD inline T cos(T x) {
#ifdef __CUDA_ARCH__
  return ::cos(x);
#else
  return sine(x, 1);
#endif
}
template <class T>
TANDEM_HD inline T tan(T x) {
#ifdef __CUDA_ARCH__
  return ::tan(x);
#else
  int64_t k;
  const double r = reduce_angle(static_cast<double>(x), k);
  const double s = sin_small(r), c = cos_small(r);
  const T value = static_cast<T>((k & 1) != 0 ? -c / s : s / c);
  return x == T(0) ? x : value;
#endif
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
#ifdef __CUDA_ARCH__
  return ::atan(x);
#else
  const double y = static_cast<double>(x);
  return static_cast<T>(std::copysign(atan_positive(std::fabs(y)), y));
#endif
}
/// The angle of the point (x, y).
template <class T>
TANDEM_HD inline T atan2(T y, T x) {
#ifdef __CUDA_ARCH__
  return ::atan2(y, x);
#else
  const double a = std::fabs(static_cast<double>(y)), b = std::fabs(static_cast<double>(x));
  const bool steep = a > b;
  const double small = steep ? b : a, large = steep ? a : b;
  double angle = atan_positive(a + b == 0 ? 0. : small == large ? 1. : small / large);  // also of two infinities
  angle = steep ? (1.5707963267948966 - angle) + 6.123233995736766e-17 : angle;
  angle = std::copysign(1., static_cast<double>(x)) < 0 ? (3.141592653589793 - angle) + 1.2246467991473532e-16 : angle;
  return static_cast<T>(std::copysign(angle, static_cast<double>(y)));
#endif
}
/// The length of (x, y), without overflow in between.
TANDEM_HD inline float hypot(float x, float y) {
  const double a = static_cast<double>(x), b = static_cast<double>(y), length = std::sqrt(fma(a, a, b * b));
  return static_cast<float>(std::fabs(a) == HUGE_VAL || std::fabs(b) == HUGE_VAL ? HUGE_VAL : length);
}
/// C. F. Borges: An improved algorithm for hypot(a, b). 2019.
TANDEM_HD inline double hypot(double x, double y) {
#ifdef __CUDA_ARCH__
  return ::hypot(x, y);
#else
  const double larger = std::fabs(x) > std::fabs(y) ? std::fabs(x) : std::fabs(y);
  const double scale = larger > 0x1p510 ? 0x1p-600 : larger < 0x1p-400 ? 0x1p600 : 1.;
  const double a = larger * scale, b = (std::fabs(x) > std::fabs(y) ? std::fabs(y) : std::fabs(x)) * scale;
  const double h = std::sqrt(fma(a, a, b * b)), square = h * h, part = a * a;
  const double error = fma(-b, b, square - part) + fma(h, h, -square) - fma(a, a, -part);
  const double length = (h == 0 ? 0. : h - error / (2 * h)) / scale;
  return std::fabs(x) == HUGE_VAL || std::fabs(y) == HUGE_VAL ? HUGE_VAL : length;
#endif
}
template <class T>
TANDEM_HD inline T asin(T x) {
#ifdef __CUDA_ARCH__
  return ::asin(x);
#else
  const double y = static_cast<double>(x), a = std::fabs(y);
  return static_cast<T>(std::copysign(atan_positive(a / std::sqrt((1 - a) * (1 + a))), y));
#endif
}
template <class T>
TANDEM_HD inline T acos(T x) {
#ifdef __CUDA_ARCH__
  return ::acos(x);
#else
  const double y = static_cast<double>(x);
  return static_cast<T>(2 * atan_positive(std::sqrt((1 - y) / (1 + y))));
#endif
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
#ifdef __CUDA_ARCH__
  return ::erf(x);
#else
  const T a = std::fabs(x), beyond = positive_part(a - T(1), T(7));
  const T outside = std::copysign(T(1) - erfc_positive(T(1) + beyond), x), inside = erf_small(x);
  return a >= T(1) ? outside : inside;
#endif
}
/// 1 - erf(x)
template <class T>
TANDEM_HD inline T erfc(T x) {
#ifdef __CUDA_ARCH__
  return ::erfc(x);
#else
  const T tail = erfc_positive(erfc_argument(std::fabs(x)));
  return x > T(0) ? tail : T(2) - tail;
#endif
}

}  // namespace tandem::math
