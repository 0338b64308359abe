// exp without branches or calls, so compilers vectorise it.
//
// exp(x) = 2^n exp(r), where n is the nearest integer to x / ln 2. exp(r) = 1 + r + r² q(r), where q is a minimax
// polynomial on |r| <= ln 2 / 2. The error is within 2 units in the last place. Overflows to infinity, underflows
// through subnormals to 0 and preserves NaN.
#pragma once
#include <bit>
#include <cmath>

#include "tandem/core/base/host_device.h"
#include "tandem/core/formulas/math.h"

namespace tandem {

template <class T>
TANDEM_HD inline T fast_exp(T x) {
  using F = math::Float<T>;
  x = math::limit(x, F::exp_low, F::exp_high);
  const T shifted = math::fma(x, T(1.4426950408889634), F::round_shift);  // the integer is in the low bits
  const auto n = std::bit_cast<typename F::Bits>(shifted) - std::bit_cast<typename F::Bits>(F::round_shift);
  const T whole = shifted - F::round_shift;
  T r, q;
  if constexpr (sizeof(T) == 4) {
    r = math::fma(whole, -1.42860677e-6f, math::fma(whole, -0.693145752f, x));
    q = math::polynomial(r, 0.5, 0.166665770, 0.0416665546, 0.00836317907, 0.00139261838);
  } else {
    r = math::fma(whole, -1.9082149292705877e-10, math::fma(whole, -0.69314718036912382, x));
    q = math::polynomial(r, 0.5, 0.16666666666666671, 4.1666666666669755e-2, 8.3333333333261351e-3,
                         1.3888888888883748e-3, 1.9841269874820625e-4, 2.4801587325547741e-5, 2.7557255400206424e-6,
                         2.7557273643110295e-7, 2.5105217004720745e-8, 2.0914686968086877e-9);
  }
  return math::scale(math::fma(q * r, r, r), n);
}

}  // namespace tandem
