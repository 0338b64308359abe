// The sum of a pooling window in the CPU's order (core/cpu/pool2d.cpp): rows of whole width are summed as runs, in lanes.
#pragma once
#include "tandem/cuda/ops/pool2d_windows.h"
#include "tandem/cuda/unroll.h"

namespace tandem::cuda_impl::strict {

/// The sum of at(k), k < n, as the CPU's run_sum (core/cpu/moments.h).
template <class T, class At>
__device__ T run_sum(int32_t n, At at) {
  constexpr int32_t kLanes = 128 / static_cast<int32_t>(sizeof(T));
  T lanes[kLanes] = {}, rest = 0;
  int32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    TANDEM_UNROLL
    for (int32_t k = 0; k < kLanes; ++k) lanes[k] += at(i + k);
  }
  for (; i < n; ++i) rest += at(i);
  TANDEM_UNROLL
  for (int32_t half = kLanes / 2; half > 0; half /= 2) {
    TANDEM_UNROLL
    for (int32_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  }
  return rest + lanes[0];
}

/// The sum of at(i * width + j) in a window of a plane with rows of `width`.
template <class T, class At>
__device__ T window_sum(Range h, Range w, int32_t width, At at) {
  constexpr int32_t kMaxRun = 4096;
  T sum = 0;
  if (w.begin == 0 && w.end == width) {
    const int32_t end = h.end * width;
    for (int32_t from = h.begin * width; from < end; from += kMaxRun)
      sum += run_sum<T>(end - from < kMaxRun ? end - from : kMaxRun, [&](int32_t k) { return at(from + k); });
    return sum;
  }
  for (int32_t i = h.begin; i < h.end; ++i)
    for (int32_t j = w.begin; j < w.end; ++j) sum += at(i * width + j);
  return sum;
}

}  // namespace tandem::cuda_impl::strict
