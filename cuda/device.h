// What every .cu file includes first: CUDA's device language, or its emulation on the host.
#pragma once
#ifdef TANDEM_CUDA_EMULATION
#include "tandem/tests/cuda_emulation/device.h"

namespace tandem::cuda {
using cuda_emulation::dynamic_shared;
}
#else
#include <cuda_runtime.h>

namespace tandem::cuda {
/// The launch's dynamic shared memory.
template <class T>
__device__ inline T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char tandem_shared_memory[];
  return reinterpret_cast<T*>(tandem_shared_memory);
}
}  // namespace tandem::cuda
#endif
