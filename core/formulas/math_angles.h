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
  const double p = polynomial(z, -1. / 3, 1. / 5, -1. / 7, 1. / 9, -1. / 11, 1. / 13, -1. / 15, 1. / 17,
                              -1. / 19, 1. / 21, -1. / 23, 1. / 25, -1. / 27);
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
                          c / 2528170444800, -c / 40537905408000, c / 690452066304000,
                          -c / 12449059983360000);
}
/// erfc(a) = e^(-a²) t P(t) for a >= 0.5, with t = 2 / (2 + a) and P fitted at Chebyshev nodes for 0.5 <= a <= 28.
template <class T>
TANDEM_HD inline T erfc_large(T a) {
  const T t = T(2) / (T(2) + a), u = fma(t, T(30. / 11), T(-13. / 11));
  T p;
  if constexpr (sizeof(T) == 4)
    p = polynomial(u, 0.46741839154874838, 0.22541616610317007, 0.070655423032590137, 0.0091940550480989197,
                   -0.0023787421341978965, -0.00090652794430037058, 0.00015472696923406989,
                   0.000083071829974678009, -0.000019624573618070598, -6.3151087213442461e-6,
                   2.3053495436116323e-6);
  else
    p = polynomial(u, 0.46741839154874837653, 0.22541616108065488238, 0.070655427325387816784,
                   0.0091941553000692428254, -0.0023788285873912508805, -0.00090708630656494157518,
                   0.00015521974753307596605, 0.000084331479544299935579, -0.000020791215440146265043,
                   -7.5275913032150647796e-6, 3.5615238454896007575e-6, 3.6220684078104035138e-7,
                   -5.6177353589796004396e-7, 8.0123442413459143168e-8, 6.3306784983317108205e-8,
                   -3.1084340642555544661e-8, -6.2756272954159933343e-10, 5.7344228452813232894e-9,
                   -1.7930420188603074473e-9, -5.7069690113859316855e-10, 4.4064156052748011162e-10,
                   1.6902828671264380152e-11, -4.3783512381581514222e-11);
  const T square = a * a, lost = fma(a, a, -square);
  return exp(-square) * (T(1) - lost) * (t * p);
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
  const T outside = std::copysign(T(1) - erfc_large(T(1) + beyond), x), inside = erf_small(x);
  return a >= T(1) ? outside : inside;
#endif
}
/// 1 - erf(x)
template <class T>
TANDEM_HD inline T erfc(T x) {
#ifdef __CUDA_ARCH__
  return ::erfc(x);
#else
  const T a = std::fabs(x), beyond = positive_part(a - T(0.5), T(28));
  const T tail = erfc_large(T(0.5) + beyond), inside = T(1) - erf_small(x);
  const T outside = x > T(0) ? tail : T(2) - tail;
  return a >= T(0.5) ? outside : inside;
#endif
}

}  // namespace tandem::math
