// Runs all threads of a kernel on the calling host thread. The caller holds the lock, so one kernel runs at a
// time.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace tandem::cuda_emulation {

struct Launch {
  const char* operation;
  dim3 grid, block;
  std::size_t shared_bytes;
  bool descending;  // order of blocks and of threads
};
void run_kernel(const Launch& launch, const std::function<void()>& thread);

}  // namespace tandem::cuda_emulation
