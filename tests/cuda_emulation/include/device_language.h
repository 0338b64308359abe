// Replaces cuda/toolkit/device_language.h: kernels are compiled for the host and run by the emulation.
#pragma once
#include <cstddef>

#include "tandem/tests/cuda_emulation/device.h"

namespace tandem::cuda_impl {

using cuda_emulation::dynamic_shared;

struct LaunchShape {
  cudaStream_t stream;
  dim3 blocks, threads;
  std::size_t shared_bytes;
};

template <class... Values>
cudaError_t enqueue(const char* operation, const LaunchShape& shape, void (*kernel)(Values...),
                    const Values&... values) {
  (cuda_emulation::check_argument(operation, values), ...);
  return cuda_emulation::launch(
      operation, shape.stream, shape.blocks, shape.threads, shape.shared_bytes, [=] { kernel(values...); },
      reinterpret_cast<const void*>(kernel));
}

inline cudaError_t can_run(void (*)()) { return cudaSuccess; }

}  // namespace tandem::cuda_impl
