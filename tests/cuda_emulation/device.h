// CUDA's device language for g++ and clang: nvcc's built-ins, for kernels that run on the host.
//
// The threads of a block are fibers of one host thread. One kernel runs at a time in the process, so shared
// memory is plain static memory. A barrier or warp function that not all its threads reach aborts the program
// with a message. launch() in emulation.h starts kernels.
#pragma once
#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <cstdint>

#include "tandem/tests/cuda_emulation/emulation.h"

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __forceinline__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

namespace tandem::cuda_emulation {

struct Position {
  uint3 thread, block;
  dim3 block_size, grid;
};
/// The position of the running thread.
extern Position position;

/// The launch's dynamic shared memory, 16-byte aligned and filled with 0xff before every block.
void* dynamic_shared_memory();
template <class T>
T* dynamic_shared() {
  return static_cast<T*>(dynamic_shared_memory());
}

}  // namespace tandem::cuda_emulation

#define threadIdx (::tandem::cuda_emulation::position.thread)
#define blockIdx (::tandem::cuda_emulation::position.block)
#define blockDim (::tandem::cuda_emulation::position.block_size)
#define gridDim (::tandem::cuda_emulation::position.grid)
inline constexpr int warpSize = 32;

#include "tandem/tests/cuda_emulation/device_atomics.h"
#include "tandem/tests/cuda_emulation/device_math.h"
#include "tandem/tests/cuda_emulation/device_sync.h"
