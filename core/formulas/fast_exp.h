// exp without branches or calls, so compilers vectorise it.
//
// exp(x) = 2^n exp(r), where n is the nearest integer to x / ln 2. exp(r) = 1 + r + r² q(r), where q is a minimax
// polynomial on |r| <= ln 2 / 2. The error is within 2 units in the last place. Overflows to infinity, underflows
// through subnormals to 0 and preserves NaN. Device code calls the device's exp.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "tandem/core/base/host_device.h"
#include "tandem/core/formulas/math.h"

namespace tandem {

TANDEM_HD inline float fast_exp(float x) {
#ifdef __CUDA_ARCH__
  return ::exp(x);
#else
  x = math::limit(x, -104.0f, 89.0f);
  constexpr float kRound = 12582912.0f;  // 1.5 2^23: adding it leaves the integer in the low bits
  const float shifted = math::fma(x, 1.44269504f, kRound);
  const int32_t n = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound);
  const float whole = shifted - kRound;
  const float r = math::fma(whole, -1.42860677e-6f, math::fma(whole, -0.693145752f, x));
  float q = 0.00139261838f;
  q = math::fma(q, r, 0.00836317907f);
  q = math::fma(q, r, 0.0416665546f);
  q = math::fma(q, r, 0.166665770f);
  q = math::fma(q, r, 0.5f);
  const float y = math::fma(q * r, r, r) + 1.0f;
  const int32_t half = n >> 1;  // in two steps: 2^n itself may be subnormal or too large
  return y * std::bit_cast<float>((half + 127) << 23) * std::bit_cast<float>((n - half + 127) << 23);
#endif
}

TANDEM_HD inline double fast_exp(double x) {
#ifdef __CUDA_ARCH__
  return ::exp(x);
#else
  x = math::limit(x, -746.0, 710.0);
  constexpr double kRound = 6755399441055744.0;  // 1.5 2^52
  const double shifted = math::fma(x, 1.4426950408889634, kRound);
  const int64_t n = std::bit_cast<int64_t>(shifted) - std::bit_cast<int64_t>(kRound);
  const double whole = shifted - kRound;
  const double r = math::fma(whole, -1.9082149292705877e-10, math::fma(whole, -0.69314718036912382, x));
  double q = 2.0914686968086877e-9;
  q = math::fma(q, r, 2.5105217004720745e-8);
  q = math::fma(q, r, 2.7557273643110295e-7);
  q = math::fma(q, r, 2.7557255400206424e-6);
  q = math::fma(q, r, 2.4801587325547741e-5);
  q = math::fma(q, r, 1.9841269874820625e-4);
  q = math::fma(q, r, 1.3888888888883748e-3);
  q = math::fma(q, r, 8.3333333333261351e-3);
  q = math::fma(q, r, 4.1666666666669755e-2);
  q = math::fma(q, r, 0.16666666666666671);
  q = math::fma(q, r, 0.5);
  const double y = math::fma(q * r, r, r) + 1.0;
  const int64_t half = n >> 1;
  return y * std::bit_cast<double>((half + 1023) << 52) * std::bit_cast<double>((n - half + 1023) << 52);
#endif
}

}  // namespace tandem
