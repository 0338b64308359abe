// Running sums, products and recurrences along rows in the CPU's order: one element after the other. A warp has a row: its
// lanes load elements side by side, and all of them take each in turn.
#pragma once
#include "tandem/cuda/device.h"
#include "tandem/cuda/line_threads.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl::strict {

/// The value of a lane. Structs provide their own.
template <class T>
__device__ inline T shuffle(T value, int lane) {
  return __shfl_sync(kFullMask, value, lane);
}

/// S and Lines: see cuda/ops/scan.cu.
template <class S, class Lines>
__global__ void __launch_bounds__(kLineThreads) scan_rows(S s, Lines l, typename S::T* out) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t line = (int64_t{blockIdx.x} * kLineThreads + threadIdx.x) / 32;
  if (line >= l.count) return;  // all of a warp
  const int64_t start = l.start(line);
  typename S::State state = S::none();
  for (int64_t from = 0; from < l.n; from += 32) {
    const bool inside = from + lane < l.n;
    const int64_t at = start + l.offset(inside ? from + lane : 0);
    const typename S::State item = inside ? s.load(at) : S::none();
    typename S::State own = state;
    for (int k = 0; k < 32; ++k) {
      state = S::join(state, shuffle(item, k));
      if (k == lane) own = state;
    }
    if (inside) out[at] = S::value(own);
  }
}

}  // namespace tandem::cuda_impl::strict
