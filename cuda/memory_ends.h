// Where a kernel that reads or writes every element of a tensor once gets them and puts them: in memory. In a generated
// kernel, calls of a captured step's queue take its place (FromCalls, ToCalls in fusion/fused_loop.h).
#pragma once
#include "tandem/core/element_types.h"
#include "tandem/cuda/pack.h"

namespace tandem::cuda_impl {

template <class S>
struct FromMemory {
  const S* data;

  /// kCount elements from `at`, aligned.
  template <int kCount>
  __device__ Pack<S, kCount> load(int64_t at) const {
    return *reinterpret_cast<const Pack<S, kCount>*>(data + at);
  }
  __device__ RawPack load(int64_t at, int count, bool whole) const { return load_pack(data + at, count, whole); }
};

template <class S>
struct ToMemory {
  S* data;

  template <int kCount>
  __device__ void store(int64_t at, const Pack<S, kCount>& values) const {
    *reinterpret_cast<Pack<S, kCount>*>(data + at) = values;
  }
};

}  // namespace tandem::cuda_impl
