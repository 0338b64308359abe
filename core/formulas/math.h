// Elementary functions without branches or calls, so compilers vectorise them. Results are within 2 or 3 units in the
// last place of the true value. Host and device compute the same bits.
//
// Method: reduce the argument to a small interval, evaluate a polynomial there (a Taylor polynomial unless noted
// otherwise), and scale back. Every element undergoes the same operations, whatever its position in an array.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tandem/core/base/host_device.h"

namespace tandem::math {

/// a b + c, rounded once where the machine supports it.
template <class T>
TANDEM_HD inline T fma(T a, T b, T c) {
#if defined(__FMA__) || defined(__aarch64__) || defined(__CUDA_ARCH__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

template <class T>
TANDEM_HD inline T abs(T x) {
  return std::fabs(x);
}
template <class T>
TANDEM_HD inline T sqrt(T x) {
  return std::sqrt(x);
}
/// -1, 0 or 1; 0 for NaN.
template <class T>
TANDEM_HD inline T sign(T x) {
  return static_cast<T>((x > T(0)) - (x < T(0)));
}
/// floor(x y / 2^64)
TANDEM_HD inline uint64_t multiply_high(uint64_t x, uint64_t y) {
  const uint64_t x0 = static_cast<uint32_t>(x), x1 = x >> 32, y0 = static_cast<uint32_t>(y), y1 = y >> 32;
  const uint64_t middle = x1 * y0 + (x0 * y0 >> 32), other = x0 * y1 + static_cast<uint32_t>(middle);
  return x1 * y1 + (middle >> 32) + (other >> 32);
}

/// c0 + c1 x + c2 x² + …
template <class T>
TANDEM_HD inline T polynomial(T, double c0) {
  return static_cast<T>(c0);
}
template <class T, class... Rest>
TANDEM_HD inline T polynomial(T x, double c0, Rest... rest) {
  return fma(x, polynomial(x, rest...), static_cast<T>(c0));
}

/// The layout of a floating point type, and constants that depend on it.
template <class T>
struct Float;
template <>
struct Float<float> {
  using Bits = int32_t;
  static constexpr int mantissa = 23, bias = 127;
  static constexpr float round_shift = 0x1.8p23f;  // adding it rounds to an integer
  static constexpr float ln2_high = 0x1.63p-1f, ln2_low = -0x1.bd0106p-13f;
  static constexpr float exp_low = -104, exp_high = 89, expm1_low = -20;
};
template <>
struct Float<double> {
  using Bits = int64_t;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double round_shift = 0x1.8p52;
  static constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
  static constexpr double exp_low = -746, exp_high = 710, expm1_low = -40;
};

/// 2^n for n in the range of normal numbers.
template <class T>
TANDEM_HD inline constexpr T power_of_two(typename Float<T>::Bits n) {
  return std::bit_cast<T>((n + Float<T>::bias) << Float<T>::mantissa);
}
/// Returns the integer nearest to x and also stores it in `integer`; |x| < 2^(mantissa - 2).
template <class T>
TANDEM_HD inline T round_to(T x, typename Float<T>::Bits& integer) {
  constexpr T shift = Float<T>::round_shift;
  const T shifted = x + shift;
  integer = std::bit_cast<typename Float<T>::Bits>(shifted) - std::bit_cast<typename Float<T>::Bits>(shift);
  return shifted - shift;
}

/// (e^r - 1) for |r| <= ln 2 / 2.
template <class T>
TANDEM_HD inline T expm1_small(T r) {
  if constexpr (sizeof(T) == 4)
    return fma(r * r, polynomial(r, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040), r);
  else
    return fma(r * r,
               polynomial(r, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880,
                          1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800),
               r);
}
/// 2^n x over the whole range, with two factors because 2^n alone may overflow.
template <class T>
TANDEM_HD inline T scaled(T x, typename Float<T>::Bits n) {
  const typename Float<T>::Bits half = n >> 1;
  return x * power_of_two<T>(half) * power_of_two<T>(n - half);
}
/// 2^n (1 + m)
template <class T>
TANDEM_HD inline T scale(T m, typename Float<T>::Bits n) {
  return scaled(T(1) + m, n);
}
/// x clamped to [low, high]; NaN stays.
template <class T>
TANDEM_HD inline T limit(T x, T low, T high) {
  const T y = x < low ? low : x;
  return y > high ? high : y;
}

template <class T>
TANDEM_HD inline T exp(T x) {
  typename Float<T>::Bits n;
  const T y = limit(x, Float<T>::exp_low, Float<T>::exp_high);
  const T k = round_to(y * T(1.4426950408889634), n);
  const T r = fma(k, -Float<T>::ln2_low, fma(k, -Float<T>::ln2_high, y));
  return scale(expm1_small(r), n);
}
/// 2^x
template <class T>
TANDEM_HD inline T exp2(T x) {
  typename Float<T>::Bits n;
  const T y = limit(x, static_cast<T>(-Float<T>::bias - Float<T>::mantissa - 2), static_cast<T>(Float<T>::bias + 2));
  const T k = round_to(y, n);
  return scale(expm1_small((y - k) * T(0.6931471805599453)), n);
}
/// e^x - 1
template <class T>
TANDEM_HD inline T expm1(T x) {
  typename Float<T>::Bits n;
  const T y = limit(x, Float<T>::expm1_low, Float<T>::exp_high);
  const T k = round_to(y * T(1.4426950408889634), n);
  const T r = fma(k, -Float<T>::ln2_low, fma(k, -Float<T>::ln2_high, y));
  const T half = power_of_two<T>(n - 1);  // 2^n may overflow where the result does not
  const T value = T(2) * fma(half, expm1_small(r), half - T(0.5));
  // Where x² is negligible, the result is x itself, with the sign of zero and all bits of subnormals.
  return std::fabs(x) < power_of_two<T>(-Float<T>::mantissa - 2) ? x : value;
}

/// Splits x = 2^e (1 + f) with 1 + f in [√½, √2) and returns log(1 + f). Meaningful only for positive, finite x.
template <class T>
TANDEM_HD inline T log_parts(T x, T& e) {
  using Bits = typename Float<T>::Bits;
  constexpr T tiny = std::numeric_limits<T>::min(), up = power_of_two<T>(Float<T>::mantissa + 2);
  const bool subnormal = x < tiny;
  using Word = std::make_unsigned_t<Bits>;  // wraps if x is not positive, where the result is unused
  const Word bits = std::bit_cast<Word>(subnormal ? x * up : x);
  const Bits n = static_cast<Bits>(bits - std::bit_cast<Word>(T(0.70710678118654752))) >> Float<T>::mantissa;
  const T f = std::bit_cast<T>(bits - static_cast<Word>(n) * (Word(1) << Float<T>::mantissa)) - T(1);
  e = static_cast<T>(n) - (subnormal ? T(Float<T>::mantissa + 2) : T(0));
  // log(1 + f) = 2 atanh(s), s = f / (2 + f), arranged so that f itself is the leading term.
  const T s = f / (T(2) + f), z = s * s, half_square = T(0.5) * f * f;
  T rest;
  if constexpr (sizeof(T) == 4)
    rest = z * polynomial(z, 2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11);
  else
    rest = z * polynomial(z, 2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11, 2. / 13, 2. / 15, 2. / 17, 2. / 19, 2. / 21);
  return f - (half_square - s * (half_square + rest));
}
/// The logarithm of x: `inside` if x is positive and finite, else the value at the edge.
template <class T>
TANDEM_HD inline T log_edges(T x, T inside) {
  constexpr T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T value = x == infinity ? infinity : inside;
  return x > T(0) ? value : x == T(0) ? -infinity : nan;
}

template <class T>
TANDEM_HD inline T log(T x) {
  T e;
  const T m = log_parts(x, e);
  return log_edges(x, fma(e, Float<T>::ln2_high, fma(e, Float<T>::ln2_low, m)));
}
template <class T>
TANDEM_HD inline T log2(T x) {
  T e;
  const T m = log_parts(x, e);
  return log_edges(x, fma(m, T(1.4426950408889634), e));
}
/// log(1 + x)
template <class T>
TANDEM_HD inline T log1p(T x) {
  const T u = T(1) + x;
  T e;
  const T m = log_parts(u, e);
  // The rounding error of 1 + x; the larger of the two summands is subtracted first.
  const T lost = x > T(1) ? T(1) - (u - x) : x - (u - T(1));
  const T correction = u > T(0) && u < std::numeric_limits<T>::infinity() ? lost / u : T(0);
  const T value = log_edges(u, fma(e, Float<T>::ln2_high, fma(e, Float<T>::ln2_low, m + correction)));
  return x == T(0) ? x : value;
}

template <class T>
TANDEM_HD inline T tanh(T x) {
  const T e = expm1(T(-2) * std::fabs(x));
  return std::copysign(-e / (e + T(2)), x);
}
/// 1 / (1 + e^-x)
template <class T>
TANDEM_HD inline T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}
template <class T>
TANDEM_HD inline T sinh(T x) {
  // With a = |x| and m = e^(a/2) - 1: (e^a - 1) / 2 = m (m + 2) / 2, which overflows no earlier than the result.
  const T m = expm1(T(0.5) * std::fabs(x)), q = T(0.5) * m * (m + T(2));
  const T r = q < T(1e18) ? q : T(1e18);  // the result is q + q / (2 q + 1); q carries a NaN
  return std::fabs(x) < power_of_two<T>(-Float<T>::mantissa / 2 - 1) ? x : std::copysign(q + r / (T(2) * r + T(1)), x);
}
template <class T>
TANDEM_HD inline T cosh(T x) {
  const T h = exp(T(0.5) * std::fabs(x));
  return T(0.5) * h * h + T(0.5) / (h * h);
}
template <class T>
TANDEM_HD inline T asinh(T x) {
  const T a = std::fabs(x), inverse = T(1) / a;
  const bool far = a > T(1e18);  // log(2 a) = log(a / 2) + 2 log 2, where 2 a may overflow
  const T y = log1p(far ? T(0.5) * a : a + a / (inverse + std::sqrt(T(1) + inverse * inverse)));
  return std::copysign(far ? y + T(1.3862943611198906) : y, x);
}
template <class T>
TANDEM_HD inline T acosh(T x) {
  const T t = x - T(1);
  const T near = log1p(t + std::sqrt(t) * std::sqrt(t + T(2)));  // NaN below 1
  return x > T(1e9) ? log(x) + T(0.6931471805599453) : near;
}
template <class T>
TANDEM_HD inline T atanh(T x) {
  const T a = std::fabs(x);
  return std::copysign(T(0.5) * log1p(T(2) * a / (T(1) - a)), x);
}

}  // namespace tandem::math
