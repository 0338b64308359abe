// Transposition of small blocks in registers, and of matrices composed of them.
#pragma once
#include <cstdint>
#include <utility>

#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {
namespace detail {

template <class T, std::size_t... i>
inline void interleave(Vec<T> a, Vec<T> b, Vec<T>& low, Vec<T>& high, std::index_sequence<i...>) {
  constexpr int kWidth = kLanes<T>;
  low = __builtin_shufflevector(a, b, static_cast<int>(i / 2 + (i % 2) * kWidth)...);
  high = __builtin_shufflevector(a, b, static_cast<int>(i / 2 + kWidth / 2 + (i % 2) * kWidth)...);
}

}  // namespace detail

/// Transposes the square block v[kLanes] in place: log2(kLanes) perfect shuffles.
template <class T>
inline void transpose_lanes(Vec<T>* v) {
  constexpr int kWidth = kLanes<T>;
  Vec<T> other[kWidth];
#pragma GCC unroll 8
  for (int step = 1; step < kWidth; step *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < kWidth / 2; ++i)
      detail::interleave<T>(v[i], v[i + kWidth / 2], other[2 * i], other[2 * i + 1],
                            std::make_index_sequence<kWidth>{});
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) v[i] = other[i];
  }
}

/// to[c * ld_to + r] = from[r * ld_from + c] for r < rows, c < columns; ld_to >= rows. If rows is not a
/// multiple of kLanes, entries of `to` between rows and ld_to get arbitrary values. T is float or double.
template <class T>
void transpose(int64_t rows, int64_t columns, const T* from, int64_t ld_from, T* to, int64_t ld_to);

/// The same, and writes nothing else.
template <class T>
void transpose_exactly(int64_t rows, int64_t columns, const T* from, int64_t ld_from, T* to, int64_t ld_to);

}  // namespace tandem::cpu
