// The elementwise loop: N tensors of the same shape (inputs broadcast), split into runs along one dimension.
//
// Work is split into chunks of kGrain elements, depending only on the shape.
#pragma once
#include <algorithm>

#include "tandem/core/cpu/parallel_for_each.h"
#include "tandem/core/loop_plan.h"

namespace tandem::cpu {

inline constexpr int64_t kGrain = 16384;

/// Calls run(pointers, strides in elements, count) for every run within the elements [begin, end).
template <int N, class Run>
void for_runs(const LoopPlan<N>& plan, int64_t begin, int64_t end, Run&& run) {
  int64_t index[kMaxDims];
  int64_t rest = begin;
  for (int d = 0; d < plan.ndim; ++d) {
    index[d] = rest % plan.sizes[d];
    rest /= plan.sizes[d];
  }
  while (begin < end) {
    std::array<char*, N> pointers = plan.data;
    for (int d = 0; d < plan.ndim; ++d)
      for (std::size_t k = 0; k < N; ++k) pointers[k] += index[d] * plan.strides[d][k] * plan.item_sizes[k];
    const int64_t count = std::min(plan.sizes[0] - index[0], end - begin);
    run(pointers, plan.strides[0], count);
    begin += count;
    index[0] = 0;
    for (int d = 1; d < plan.ndim && ++index[d] == plan.sizes[d]; ++d) index[d] = 0;
  }
}

template <int N, class Run>
void parallel_runs(const LoopPlan<N>& plan, Run&& run) {
  parallel_for(plan.numel, kGrain, [&](int64_t begin, int64_t end) { for_runs(plan, begin, end, run); });
}

/// out[i] = f(a[i], b[i]). The branches with unit strides are the ones that compilers vectorise.
template <class Out, class In, class F>
void binary_run(Out* out, int64_t so, const In* a, int64_t sa, const In* b, int64_t sb, int64_t n, F f) {
  if (so == 1 && sa == 1 && sb == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else if (so == 1 && sa == 1 && sb == 0) {
    const In value = *b;
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], value);
  } else if (so == 1 && sa == 0 && sb == 1) {
    const In value = *a;
    for (int64_t i = 0; i < n; ++i) out[i] = f(value, b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * so] = f(a[i * sa], b[i * sb]);
  }
}

}  // namespace tandem::cpu
