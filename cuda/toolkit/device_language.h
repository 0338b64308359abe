// CUDA's device language as compiled by nvcc. The build selects this header by include path; an emulation of
// the device provides a replacement.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>

namespace tandem::cuda_impl {

/// The launch's dynamic shared memory.
template <class T>
__device__ inline T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char tandem_shared_memory[];
  return reinterpret_cast<T*>(tandem_shared_memory);
}

/// The grid, block, shared memory and stream of a launch.
struct LaunchShape {
  cudaStream_t stream;
  dim3 blocks, threads;
  std::size_t shared_bytes;
};

/// Enqueues `kernel`; returns the result of cudaLaunchKernel. `operation` is a string literal.
template <class... Values>
cudaError_t enqueue([[maybe_unused]] const char* operation, const LaunchShape& shape, void (*kernel)(Values...),
                    const Values&... values) {
  void* pointers[sizeof...(values) + 1] = {const_cast<void*>(static_cast<const void*>(&values))..., nullptr};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), shape.blocks, shape.threads, pointers,
                          shape.shared_bytes, shape.stream);
}

/// Success if the current GPU can run `kernel` as compiled.
inline cudaError_t can_run(void (*kernel)()) {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
}

}  // namespace tandem::cuda_impl
