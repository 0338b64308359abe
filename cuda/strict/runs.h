// Sums over runs of contiguous elements in the order of core/cpu/moments.h: in lanes of 128 bytes, one thread each,
// which are folded by halves. What fills no lanes is added one after the other.
#pragma once
#include "tandem/core/formulas/norm_math.h"
#include "tandem/cuda/line_threads.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl::strict {

/// The threads that sum a run of T together.
template <class T>
inline constexpr int kRunLanes = 128 / static_cast<int>(sizeof(T));

/// What add(sum, i) makes of `sum` for the elements i < n that fill lanes. Each thread of the run gets it; all threads
/// of their warp must call it.
template <class T, class State, class Add>
__device__ State sum_lanes(int64_t n, Add add) {
  constexpr int kLanes = kRunLanes<T>;
  const int64_t end = n - n % kLanes;
  State sum{};
  for (int64_t i = static_cast<int>(threadIdx.x) % kLanes; i < end; i += kLanes) add(sum, i);
  return fold_warp(sum, Plus(), kLanes);
}
/// The same for the rest of the elements, on top of `sum`; each thread for itself.
template <class T, class State, class Add>
__device__ State sum_rest(int64_t n, State sum, Add add) {
  for (int64_t i = n - n % kRunLanes<T>; i < n; ++i) add(sum, i);
  return sum;
}
/// All elements of a run: the lanes and the rest, summed apart.
template <class T, class State, class Add>
__device__ State sum_run(int64_t n, Add add) {
  const State rest = sum_rest<T>(n, State{}, add);
  return rest + sum_lanes<T, State>(n, add);
}

/// The sum of run(begin, count) over the runs of a row of n elements, in order. The row's `threads`, of which all must
/// call it, are those of a run if there is only one, or else a block, which takes several runs at once; `shared` has
/// room for one value for each of these.
template <class T, class State, class Run>
__device__ State sum_runs(int64_t n, int threads, State* shared, Run run) {
  constexpr int kLanes = kRunLanes<T>, kAtOnce = kLineThreads / kLanes;
  State total{};
  if (threads == kLanes) return total + run(int64_t{0}, n);
  const int own = static_cast<int>(threadIdx.x) / kLanes;
  for (int64_t first = 0; first < n; first += kAtOnce * kNormRun) {
    const int64_t begin = first + own * kNormRun, left = n - begin;
    const State part = run(begin, left < 0 ? 0 : left < kNormRun ? left : kNormRun);
    if (threadIdx.x % kLanes == 0) shared[own] = part;
    __syncthreads();
    for (int k = 0; k < kAtOnce && first + k * kNormRun < n; ++k) total = total + shared[k];
    __syncthreads();
  }
  return total;
}

}  // namespace tandem::cuda_impl::strict
