// Neighbouring elements that a thread accesses at once.
#pragma once
#include <bit>
#include <cstdint>

#include "tandem/cuda/device.h"
#include "tandem/cuda/unroll.h"

namespace tandem::cuda_impl {

/// 16 bytes where nothing else is said.
template <class S, int kCount = static_cast<int>(16 / sizeof(S))>
struct alignas(kCount * sizeof(S)) Pack {
  static constexpr int kSize = kCount;
  S x[kCount];
};

/// Sixteen bytes as they are loaded. A thread that loads several keeps them like this until it computes: elements of a
/// half type would take a register each, and would be taken apart before the next load starts.
struct alignas(16) RawPack {
  uint32_t words[4];

  template <class S>
  __device__ Pack<S> elements() const {
    return std::bit_cast<Pack<S>>(*this);
  }
};

/// The first `count` elements from `at`. `whole`: all of them, from an aligned address.
template <class S>
__device__ inline RawPack load_pack(const S* at, int count, bool whole) {
  if (whole) return *reinterpret_cast<const RawPack*>(at);
  Pack<S> p{};
  TANDEM_UNROLL
  for (int k = 0; k < Pack<S>::kSize; ++k)
    if (k < count) p.x[k] = at[k];
  return std::bit_cast<RawPack>(p);
}
template <class S, int kCount>
__device__ inline void store_pack(S* at, const Pack<S, kCount>& p, int count, bool whole) {
  if (whole) {
    *reinterpret_cast<Pack<S, kCount>*>(at) = p;
    return;
  }
  TANDEM_UNROLL
  for (int k = 0; k < kCount; ++k)
    if (k < count) at[k] = p.x[k];
}

}  // namespace tandem::cuda_impl
