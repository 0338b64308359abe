// What generated kernels are made of: their parameter, and how their threads cover the elements.
//
// A kernel has operands, all of one shape: tensors that it reads, writes or both. A thread computes one vector of
// elements, or that many single ones where the operands' rows do not allow vectors (cuda/elementwise.h).
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "tandem/core/formulas/binary_ops.h"
#include "tandem/core/formulas/compare_ops.h"
#include "tandem/core/formulas/ternary_ops.h"
#include "tandem/core/formulas/unary_ops.h"
#include "tandem/cuda/functors.h"
#include "tandem/cuda/walk.h"

namespace tandem::cuda_impl {

inline constexpr int kFusedOperands = 16, kFusedNumbers = 48, kFusedThreads = 128;

struct Fused {
  uint32_t numel = 0;
  bool vectors = false;
  Walk<kFusedOperands> walk;
  char* data[kFusedOperands] = {};
  uint64_t numbers[kFusedNumbers] = {};  ///< bit patterns of parameters, in the lowest bytes

  template <class T>
  TANDEM_HD T number(int i) const {
    if constexpr (sizeof(T) == 8)
      return std::bit_cast<T>(numbers[i]);
    else if constexpr (sizeof(T) == 4)
      return std::bit_cast<T>(static_cast<uint32_t>(numbers[i]));
    else if constexpr (sizeof(T) == 2)
      return std::bit_cast<T>(static_cast<uint16_t>(numbers[i]));
    else
      return std::bit_cast<T>(static_cast<uint8_t>(numbers[i]));
  }
};

#ifdef TANDEM_GENERATED_KERNEL

template <int N>
struct FusedOffsets {
  uint32_t at[N];
  __device__ FusedOffsets(const Fused& p, uint32_t position) : at{} {
    for (int d = 0; d < p.walk.ndim; ++d) {
      const uint32_t rest = p.walk.sizes[d].quotient(position), index = position - rest * p.walk.sizes[d].divisor;
      for (int k = 0; k < N; ++k) at[k] += index * p.walk.strides[d][k];
      position = rest;
    }
  }
};

template <class T>
__device__ inline T choose(bool condition, T a, T b) {
  return condition ? a : b;
}

/// V neighbouring elements, stored as T.
template <class T, int V>
struct alignas(sizeof(T) * V) FusedPack {
  T x[V];
};

template <class T, int V>
__device__ inline FusedPack<T, V> fused_load(const Fused& p, int operand, uint32_t offset) {
  return *reinterpret_cast<const FusedPack<T, V>*>(reinterpret_cast<const T*>(p.data[operand]) +
                                                   static_cast<int32_t>(offset));
}
template <class T, int V>
__device__ inline void fused_store(const Fused& p, int operand, uint32_t offset, const FusedPack<T, V>& values) {
  *reinterpret_cast<FusedPack<T, V>*>(reinterpret_cast<T*>(p.data[operand]) + static_cast<int32_t>(offset)) = values;
}

/// Body<V>::run(p, offsets) computes V elements.
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

#endif

}  // namespace tandem::cuda_impl
