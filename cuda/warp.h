// Reductions over the threads of a warp and of a block, in a fixed order.
#pragma once
#include <cstdint>

#include "tandem/cuda/device.h"

namespace tandem::cuda_impl {

inline constexpr unsigned kFullMask = 0xffffffffu;

/// An operation for the reductions below.
struct Plus {
  template <class S>
  __device__ S operator()(S a, S b) const {
    return a + b;
  }
};

/// The value of the thread `apart` lanes higher; all threads of the warp must take part.
template <class T>
__device__ inline T shuffle_down(T value, int apart) {
  if constexpr (sizeof(T) < 4)
    return static_cast<T>(__shfl_down_sync(kFullMask, static_cast<int>(value), static_cast<unsigned>(apart)));
  else
    return static_cast<T>(__shfl_down_sync(kFullMask, value, static_cast<unsigned>(apart)));
}

/// The value of the thread `apart` lanes lower.
template <class T>
__device__ inline T shuffle_up(T value, int apart) {
  return static_cast<T>(__shfl_up_sync(kFullMask, value, static_cast<unsigned>(apart)));
}
/// The value of the thread at lane XOR `apart`.
template <class T>
__device__ inline T shuffle_xor(T value, int apart) {
  return static_cast<T>(__shfl_xor_sync(kFullMask, value, apart));
}

/// Reduces each group of `width` neighbouring lanes (a power of two); every lane gets the result. `combine`
/// must be commutative. Structs provide their own shuffle_xor.
template <class T, class Combine>
__device__ inline T fold_warp(T value, Combine combine, int width = 32) {
  for (int apart = width / 2; apart > 0; apart /= 2) value = combine(value, shuffle_xor(value, apart));
  return value;
}

/// Reduces over the block; every thread gets the result. `shared` holds one value per warp and may be reused
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
