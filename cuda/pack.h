// Neighbouring elements that a thread accesses at once, 16 bytes where nothing else is said.
#pragma once
#include "tandem/cuda/device.h"
#include "tandem/cuda/unroll.h"

namespace tandem::cuda_impl {

template <class S, int kCount = static_cast<int>(16 / sizeof(S))>
struct alignas(kCount * sizeof(S)) Pack {
  static constexpr int kSize = kCount;
  S x[kCount];
};

/// The first `count` elements from `at`. `whole`: all of them, from an aligned address.
template <class P, class S>
__device__ inline P load_pack(const S* at, int count, bool whole) {
  if (whole) return *reinterpret_cast<const P*>(at);
  P p{};
  TANDEM_UNROLL
  for (int k = 0; k < P::kSize; ++k)
    if (k < count) p.x[k] = at[k];
  return p;
}
template <class P, class S>
__device__ inline void store_pack(S* at, const P& p, int count, bool whole) {
  if (whole) {
    *reinterpret_cast<P*>(at) = p;
    return;
  }
  TANDEM_UNROLL
  for (int k = 0; k < P::kSize; ++k)
    if (k < count) at[k] = p.x[k];
}

}  // namespace tandem::cuda_impl
