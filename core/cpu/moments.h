// Vectorised sums of deviations and of their squares over a run of contiguous elements.
#pragma once
#include <utility>

#include "tandem/core/backend/half_calls.h"
#include "tandem/core/cpu/linalg/load_wide.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/formulas/reduce_ops.h"

namespace tandem::cpu {

/// The sum of a vector's elements, by repeated halving.
template <class T, class V, std::size_t... I>
T fold_elements(V v, std::index_sequence<I...>) {
  constexpr int kHalf = sizeof...(I);
  const auto half = __builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (I + kHalf)...);
  if constexpr (kHalf == 2)
    return half[0] + half[1];
  else
    return fold_elements<T>(half, std::make_index_sequence<kHalf / 2>());
}
template <class T>
T fold_elements(Vec<T> v) {
  if constexpr (kLanes<T> == 2)
    return v[0] + v[1];
  else
    return fold_elements<T>(v, std::make_index_sequence<kLanes<T> / 2>());
}

/// The sum of x[i], i < n, as T, which is S or, for a half type, float; n should be at most a few thousand, for accuracy.
template <class S, class T = computed_t<S>>
T run_sum(const S* x, int64_t n) {
  constexpr int kCount = 4, kWidth = kLanes<T>;
  Vec<T> sums[kCount] = {};
  int64_t i = 0;
  for (; i + kCount * kWidth <= n; i += kCount * kWidth)
    for (int k = 0; k < kCount; ++k) sums[k] += load_wide<T>(x + i + k * kWidth);
  T rest = 0;
  for (; i < n; ++i) rest += static_cast<T>(x[i]);
  return rest + fold_elements<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// Moments of x[i] - mean, i < n; n should be at most a few thousand, for accuracy.
template <class S, class T = computed_t<S>>
folds::Moments<T> run_moments(const S* x, int64_t n, T mean) {
  constexpr int kCount = 4, kWidth = kLanes<T>;
  const Vec<T> m = broadcast(mean);
  Vec<T> sums[kCount] = {}, squares[kCount] = {};
  int64_t i = 0;
  for (; i + kCount * kWidth <= n; i += kCount * kWidth)
    for (int k = 0; k < kCount; ++k) {
      const Vec<T> d = load_wide<T>(x + i + k * kWidth) - m;
      sums[k] += d;
      squares[k] += d * d;
    }
  folds::Moments<T> rest{0, 0};
  for (; i < n; ++i) {
    const T d = static_cast<T>(x[i]) - mean;
    rest = {rest.sum + d, rest.squares + d * d};
  }
  return {rest.sum + fold_elements<T>((sums[0] + sums[1]) + (sums[2] + sums[3])),
          rest.squares + fold_elements<T>((squares[0] + squares[1]) + (squares[2] + squares[3]))};
}

}  // namespace tandem::cpu
