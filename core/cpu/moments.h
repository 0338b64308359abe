// Vectorised sums of deviations and of their squares over a run of contiguous elements.
#pragma once
#include <utility>

#include "tandem/core/backend/half_calls.h"
#include "tandem/core/cpu/linalg/load_wide.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/formulas/math.h"
#include "tandem/core/formulas/reduce_ops.h"

namespace tandem::cpu {

template <class T, class V, std::size_t... I>
T fold_elements(V v, std::index_sequence<I...>) {
  constexpr int kHalf = sizeof...(I);
  const auto half = __builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (I + kHalf)...);
  if constexpr (kHalf == 2)
    return half[0] + half[1];
  else
    return fold_elements<T>(half, std::make_index_sequence<kHalf / 2>());
}
/// The sum of the elements, by repeated halving.
template <class T>
T fold(Wide<T> w) {
  for (int count = Wide<T>::kVectors / 2; count > 0; count /= 2)
    for (int i = 0; i < count; ++i) w.v[i] += w.v[i + count];
  if constexpr (kLanes<T> == 2)
    return w.v[0][0] + w.v[0][1];
  else
    return fold_elements<T>(w.v[0], std::make_index_sequence<kLanes<T> / 2>());
}

/// The sum of x[i], i < n, as T, which is S or, for a half type, float; n should be at most a few thousand, for accuracy.
template <class S, class T = computed_t<S>>
T run_sum(const S* x, int64_t n) {
  constexpr int kWidth = Wide<T>::kCount;
  Wide<T> sums[2] = {};
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth)
    for (int k = 0; k < 2; ++k) sums[k] += load_block<T>(x + i + k * kWidth);
  T rest = 0;
  for (; i < n; ++i) rest += static_cast<T>(x[i]);
  return n < 2 * kWidth ? rest : rest + fold(sums[0] + sums[1]);
}

/// Moments of x[i] - mean, i < n; n should be at most a few thousand, for accuracy.
template <class S, class T = computed_t<S>>
folds::Moments<T> run_moments(const S* x, int64_t n, T mean) {
  constexpr int kWidth = Wide<T>::kCount;
  Wide<T> sums[2] = {}, squares[2] = {};
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth)
    for (int k = 0; k < 2; ++k) {
      Wide<T> d = load_block<T>(x + i + k * kWidth);
      for (Vec<T>& v : d.v) v -= mean;
      sums[k] += d;
      squares[k] = fma(d, d, squares[k]);
    }
  folds::Moments<T> rest{0, 0};
  for (; i < n; ++i) {
    const T d = static_cast<T>(x[i]) - mean;
    rest = {rest.sum + d, math::fma(d, d, rest.squares)};
  }
  if (n < 2 * kWidth) return rest;
  return {rest.sum + fold(sums[0] + sums[1]), rest.squares + fold(squares[0] + squares[1])};
}

}  // namespace tandem::cpu
