// What a convolution in inference does with each output while it is in the cache.
#pragma once
#include "tandem/core/cpu/conv/conv2d.h"
#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {

/// Finishes y[at, at + count) of the whole output, whose first element is y[0]. The same bits as an addition and a relu
/// of the output as a whole.
template <class T>
inline void finish(const Epilogue<T>& f, T* y, int64_t at, int64_t count) {
  if (!f.relu && f.residual == nullptr) return;
  constexpr int64_t kWidth = kLanes<T>;
  const auto apply = [&]<bool kAdd, bool kRelu>() {
    const T* residual = f.residual;
    int64_t i = at;
    for (; i + kWidth <= at + count; i += kWidth) {
      Vec<T> value = load(y + i);
      if constexpr (kAdd) value += load(residual + i);
      if constexpr (kRelu) value = value < Vec<T>{} ? Vec<T>{} : value;
      store(y + i, value);
    }
    for (; i < at + count; ++i) {
      T value = y[i];
      if constexpr (kAdd) value += residual[i];
      if constexpr (kRelu) value = value < T(0) ? T(0) : value;
      y[i] = value;
    }
  };
  if (f.residual == nullptr) return apply.template operator()<false, true>();
  f.relu ? apply.template operator()<true, true>() : apply.template operator()<true, false>();
}

/// Requests the rows that finish_rows will read: there are more streams (one per row)
/// than the hardware prefetcher can follow.
template <class T>
inline void prefetch_rows(const Epilogue<T>& f, int64_t at, int64_t rows, int64_t step, int64_t count) {
  if (f.residual == nullptr) return;
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(f.residual + at + r * step + i);
}

/// finish() of `rows` rows of `count` elements, which are `step` apart.
template <class T>
inline void finish_rows(const Epilogue<T>& f, T* y, int64_t at, int64_t rows, int64_t step, int64_t count) {
  for (int64_t r = 0; r < rows; ++r) finish(f, y, at + r * step, count);
}

}  // namespace tandem::cpu
