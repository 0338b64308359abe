// The parts of generated kernels beside the formulas. A thread computes one vector of elements, or that many single
// ones. Bodies are generated: Body<V>::run(p, offsets, …) computes V elements.
#pragma once
#include <type_traits>

#include "tandem/core/formulas/binary_ops.h"
#include "tandem/core/formulas/compare_ops.h"
#include "tandem/core/formulas/ternary_ops.h"
#include "tandem/core/formulas/unary_ops.h"
#include "tandem/cuda/functors.h"
#include "tandem/cuda/fusion/fused.h"
#include "tandem/cuda/memory_ends.h"

namespace tandem::cuda_impl {

/// Where the first N operands have the element at a position.
template <int N>
struct FusedOffsets {
  uint32_t at[N];
  __device__ FusedOffsets(const Fused& p, uint32_t position) : at{} {
    for (int d = 0; d < p.walk.ndim; ++d) p.walk.step(d, position, at);
  }
};

template <class T>
__device__ inline T choose(bool condition, T a, T b) {
  return condition ? a : b;
}

template <class T, int V>
__device__ inline Pack<T, V> fused_load(const Fused& p, int operand, uint32_t offset) {
  return *reinterpret_cast<const Pack<T, V>*>(reinterpret_cast<const T*>(p.data[operand]) +
                                              static_cast<int32_t>(offset));
}
template <class T, int V>
__device__ inline void fused_store(const Fused& p, int operand, uint32_t offset, const Pack<T, V>& values) {
  *reinterpret_cast<Pack<T, V>*>(reinterpret_cast<T*>(p.data[operand]) + static_cast<int32_t>(offset)) = values;
}

/// A kernel of nothing but calls.
template <template <int> class Body, int N, int V>
__device__ inline void fused_elements(const Fused& p) {
  const uint32_t first = blockIdx.x * static_cast<uint32_t>(kFusedThreads * V);
  if (p.vectors && p.numel - first >= static_cast<uint32_t>(kFusedThreads * V)) {
    Body<V>::run(p, FusedOffsets<N>(p, first + threadIdx.x * V).at);
    return;
  }
  for (int v = 0; v < V; ++v) {
    const uint32_t position = first + static_cast<uint32_t>(v * kFusedThreads) + threadIdx.x;
    if (position >= p.numel) return;
    Body<1>::run(p, FusedOffsets<N>(p, position).at);
  }
}

/// The elements that a core reads, computed by calls, which also store them (memory_ends.h has the other kind).
template <class S, template <int> class Body, int N>
struct FromCalls {
  const Fused& p;

  __device__ void element(int64_t at, S* to) const {
    Body<1>::run(p, FusedOffsets<N>(p, static_cast<uint32_t>(at)).at, to);
  }
  template <int kCount>
  __device__ Pack<S, kCount> load(int64_t at) const {
    Pack<S, kCount> values;
    if (p.vectors)
      Body<kCount>::run(p, FusedOffsets<N>(p, static_cast<uint32_t>(at)).at, values.x);
    else
      for (int k = 0; k < kCount; ++k) element(at + k, values.x + k);
    return values;
  }
  __device__ RawPack load(int64_t at, int count, bool whole) const {
    Pack<S> values{};
    if (whole)
      values = load<Pack<S>::kSize>(at);
    else
      for (int k = 0; k < count; ++k) element(at + k, values.x + k);
    return std::bit_cast<RawPack>(values);
  }
};

/// Calls that take what a core computes.
template <template <int> class Body, int N>
struct ToCalls {
  const Fused& p;

  template <class S, int kCount>
  __device__ void store(int64_t at, const Pack<S, kCount>& values) const {
    if (p.vectors)
      Body<kCount>::run(p, FusedOffsets<N>(p, static_cast<uint32_t>(at)).at, values.x);
    else
      for (int k = 0; k < kCount; ++k)
        Body<1>::run(p, FusedOffsets<N>(p, static_cast<uint32_t>(at + k)).at, values.x + k);
  }
};

}  // namespace tandem::cuda_impl
