// Logarithm and circular functions for random numbers, for host and device.
//
// Every multiply-add is an explicit fma, and all other operations are correctly rounded by IEEE 754, so every
// compiler and device produces the same bits. There are no branches, so loops vectorise. Errors are below 2 ulp
// (float) and 3 ulp (double) of the largest result.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "tandem/core/base/host_device.h"

namespace tandem::random_math {

/// ln x for normal x in (0, 1]; exactly 0 at 1. With x = 2^e m, m in [sqrt(1/2), sqrt(2)) and
/// s = (m - 1) / (m + 1): ln m = 2 (s + s^3/3 + s^5/5 + …).
TANDEM_HD inline float log(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t shifted = bits - 0x3f3504f3u;  // sqrt(1/2)
  const int32_t e = static_cast<int32_t>(shifted) >> 23;
  const float m = std::bit_cast<float>(bits - (static_cast<uint32_t>(e) << 23));
  const float s = (m - 1.0f) / (m + 1.0f), z = s * s;
  float p = 2.0f / 9;
  p = std::fma(p, z, 2.0f / 7);
  p = std::fma(p, z, 2.0f / 5);
  p = std::fma(p, z, 2.0f / 3);
  p = std::fma(p * z, s, 2 * s);
  return std::fma(static_cast<float>(e), 0.693147181f, p);
}
TANDEM_HD inline double log(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t shifted = bits - 0x3fe6a09e667f3bcdu;  // sqrt(1/2)
  const int64_t e = static_cast<int64_t>(shifted) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(e) << 52));
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 2.0 / 21;
  p = std::fma(p, z, 2.0 / 19);
  p = std::fma(p, z, 2.0 / 17);
  p = std::fma(p, z, 2.0 / 15);
  p = std::fma(p, z, 2.0 / 13);
  p = std::fma(p, z, 2.0 / 11);
  p = std::fma(p, z, 2.0 / 9);
  p = std::fma(p, z, 2.0 / 7);
  p = std::fma(p, z, 2.0 / 5);
  p = std::fma(p, z, 2.0 / 3);
  p = std::fma(p * z, s, 2 * s);
  return std::fma(static_cast<double>(e), 0.69314718055994530942, p);
}

template <class T>
struct SinCos {
  T sin, cos;
};

/// Sine and cosine of 2 pi turn / 2^32. The nearest quarter turn is subtracted; the Taylor series takes the remainder
/// (at most pi/4).
TANDEM_HD inline SinCos<float> sincos_turn(uint32_t turn) {
  const uint32_t quarter = (turn + 0x20000000u) >> 30;
  const float y = static_cast<float>(static_cast<int32_t>(turn - (quarter << 30))) * 1.4629180792671596e-9f, z = y * y;
  float s = 1.0f / 362880;
  s = std::fma(s, z, -1.0f / 5040);
  s = std::fma(s, z, 1.0f / 120);
  s = std::fma(s, z, -1.0f / 6);
  s = std::fma(s * z, y, y);
  float c = -1.0f / 3628800;
  c = std::fma(c, z, 1.0f / 40320);
  c = std::fma(c, z, -1.0f / 720);
  c = std::fma(c, z, 1.0f / 24);
  c = std::fma(c, z, -0.5f);
  c = std::fma(c, z, 1.0f);
  // Quarters 1 and 3 swap sine and cosine. The sine is negative in 2 and 3, the cosine in 1 and 2.
  const uint32_t a = std::bit_cast<uint32_t>(s), b = std::bit_cast<uint32_t>(c), swap = 0u - (quarter & 1);
  const uint32_t low = (a & ~swap) | (b & swap), high = (b & ~swap) | (a & swap);
  return {std::bit_cast<float>(low ^ ((quarter & 2) << 30)), std::bit_cast<float>(high ^ (((quarter + 1) & 2) << 30))};
}
/// The same for 2 pi turn / 2^64.
TANDEM_HD inline SinCos<double> sincos_turn(uint64_t turn) {
  const uint64_t quarter = (turn + 0x2000000000000000u) >> 62;
  const double y = static_cast<double>(static_cast<int64_t>(turn - (quarter << 62))) * 3.4061215800865545e-19,
               z = y * y;
  double s = 1.0 / 355687428096000;  // 17!
  s = std::fma(s, z, -1.0 / 1307674368000);
  s = std::fma(s, z, 1.0 / 6227020800);
  s = std::fma(s, z, -1.0 / 39916800);
  s = std::fma(s, z, 1.0 / 362880);
  s = std::fma(s, z, -1.0 / 5040);
  s = std::fma(s, z, 1.0 / 120);
  s = std::fma(s, z, -1.0 / 6);
  s = std::fma(s * z, y, y);
  double c = 1.0 / 20922789888000;  // 16!
  c = std::fma(c, z, -1.0 / 87178291200);
  c = std::fma(c, z, 1.0 / 479001600);
  c = std::fma(c, z, -1.0 / 3628800);
  c = std::fma(c, z, 1.0 / 40320);
  c = std::fma(c, z, -1.0 / 720);
  c = std::fma(c, z, 1.0 / 24);
  c = std::fma(c, z, -0.5);
  c = std::fma(c, z, 1.0);
  const uint64_t a = std::bit_cast<uint64_t>(s), b = std::bit_cast<uint64_t>(c), swap = 0u - (quarter & 1);
  const uint64_t low = (a & ~swap) | (b & swap), high = (b & ~swap) | (a & swap);
  return {std::bit_cast<double>(low ^ ((quarter & 2) << 62)),
          std::bit_cast<double>(high ^ (((quarter + 1) & 2) << 62))};
}

}  // namespace tandem::random_math
