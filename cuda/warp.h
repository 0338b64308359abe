// Folds over the threads of a warp and of a block, in a fixed order.
#pragma once
#include <cstdint>

#include "tandem/cuda/device.h"

namespace tandem::cuda_impl {

inline constexpr unsigned kFullMask = 0xffffffffu;

/// For the folds below.
struct Plus {
  template <class S>
  __device__ S operator()(S a, S b) const {
    return a + b;
  }
};

/// The value of the thread `apart` lanes further on; all threads of the warp take part.
template <class T>
__device__ inline T shuffle_down(T value, int apart) {
  if constexpr (sizeof(T) < 4)
    return static_cast<T>(__shfl_down_sync(kFullMask, static_cast<int>(value), static_cast<unsigned>(apart)));
  else
    return static_cast<T>(__shfl_down_sync(kFullMask, value, static_cast<unsigned>(apart)));
}

/// The value of the thread `apart` lanes before.
template <class T>
__device__ inline T shuffle_up(T value, int apart) {
  return static_cast<T>(__shfl_up_sync(kFullMask, value, static_cast<unsigned>(apart)));
}
/// The value of the thread whose lane differs in the bits `apart`.
template <class T>
__device__ inline T shuffle_xor(T value, int apart) {
  return static_cast<T>(__shfl_xor_sync(kFullMask, value, apart));
}

/// The fold over groups of `width` neighbouring lanes (a power of two), for every one of them. `combine` is
/// commutative. Structs bring a shuffle_xor of their own.
template <class T, class Combine>
__device__ inline T fold_warp(T value, Combine combine, int width = 32) {
  for (int apart = width / 2; apart > 0; apart /= 2) value = combine(value, shuffle_xor(value, apart));
  return value;
}

/// The fold over the block, for every thread. `shared` has room for a value a warp, and may be used again
/// after the next barrier.
template <class T, class Combine>
__device__ inline T fold_block(T value, T* shared, Combine combine) {
  value = fold_warp(value, combine);
  const int warps = static_cast<int>(blockDim.x) / 32;
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
  for (int w = 1; w < warps; ++w) value = combine(value, shared[w]);
  return value;
}

}  // namespace tandem::cuda_impl
