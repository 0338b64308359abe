// Logarithm and circular functions for random numbers, for host and device.
//
// Every multiply-add is an explicit fma, and all other operations are correctly rounded by IEEE 754, so every
// compiler and device produces the same bits. There are no branches, so loops vectorise. Errors are below 2 ulp
// (float) and 3 ulp (double) of the largest result.
#pragma once
#include <bit>
#include <cmath>
#include <type_traits>

#include "tandem/core/base/host_device.h"
#include "tandem/core/formulas/math.h"

namespace tandem::random_math {

/// A polynomial of z, the coefficient of the highest power first.
template <class T, class... Rest>
TANDEM_HD inline T polynomial(T z, T p, Rest... rest) {
  ((p = std::fma(p, z, rest)), ...);
  return p;
}

/// ln x for normal x in (0, 1]; exactly 0 at 1. With x = 2^e m, m in [sqrt(1/2), sqrt(2)) and
/// s = (m - 1) / (m + 1): ln m = 2 (s + s^3/3 + s^5/5 + …).
template <class T>
TANDEM_HD inline T log(T x) {
  using F = math::Float<T>;
  using Word = std::make_unsigned_t<typename F::Bits>;
  const Word bits = std::bit_cast<Word>(x);
  const auto e = static_cast<typename F::Bits>(bits - std::bit_cast<Word>(T(0.70710678118654752))) >> F::mantissa;
  const T m = std::bit_cast<T>(bits - (static_cast<Word>(e) << F::mantissa));
  const T s = (m - T(1)) / (m + T(1)), z = s * s;
  T p;
  if constexpr (sizeof(T) == 4)
    p = polynomial(z, 2.0f / 9, 2.0f / 7, 2.0f / 5, 2.0f / 3);
  else
    p = polynomial(z, 2. / 21, 2. / 19, 2. / 17, 2. / 15, 2. / 13, 2. / 11, 2. / 9, 2. / 7, 2. / 5, 2. / 3);
  return std::fma(static_cast<T>(e), T(0.69314718055994530942), std::fma(p * z, s, 2 * s));
}

template <class T>
struct SinCos {
  T sin, cos;
};

/// Sine and cosine of 2 pi turn / 2^32 as float, or of 2 pi turn / 2^64 as double. The nearest quarter turn is
/// subtracted; the Taylor series takes the remainder (at most pi/4).
template <class Word>
TANDEM_HD inline auto sincos_turn(Word turn) {
  constexpr bool single = sizeof(Word) == 4;
  constexpr int top = single ? 30 : 62;
  using T = std::conditional_t<single, float, double>;
  const Word quarter = (turn + (Word(1) << (top - 1))) >> top;
  const auto rest = static_cast<std::make_signed_t<Word>>(turn - (quarter << top));
  const T y = static_cast<T>(rest) * (single ? T(1.4629180792671596e-9f) : T(3.4061215800865545e-19)), z = y * y;
  T s, c;
  if constexpr (single) {
    s = polynomial(z, 1.0f / 362880, -1.0f / 5040, 1.0f / 120, -1.0f / 6);
    c = polynomial(z, -1.0f / 3628800, 1.0f / 40320, -1.0f / 720, 1.0f / 24, -0.5f, 1.0f);
  } else {
    s = polynomial(z, 1. / 355687428096000, -1. / 1307674368000, 1. / 6227020800, -1. / 39916800, 1. / 362880,
                   -1. / 5040, 1. / 120, -1. / 6);
    c = polynomial(z, 1. / 20922789888000, -1. / 87178291200, 1. / 479001600, -1. / 3628800, 1. / 40320, -1. / 720,
                   1. / 24, -0.5, 1.);
  }
  s = std::fma(s * z, y, y);
  // Quarters 1 and 3 swap sine and cosine. The sine is negative in 2 and 3, the cosine in 1 and 2.
  const Word a = std::bit_cast<Word>(s), b = std::bit_cast<Word>(c), swap = Word(0) - (quarter & 1);
  const Word low = (a & ~swap) | (b & swap), high = (b & ~swap) | (a & swap);
  return SinCos<T>{std::bit_cast<T>(low ^ ((quarter & 2) << top)),
                   std::bit_cast<T>(high ^ (((quarter + 1) & 2) << top))};
}

}  // namespace tandem::random_math
