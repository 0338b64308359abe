// What the emulated device is asked to do: calls are counted, and recorded in captures.
#pragma once
#include <doctest/doctest.h>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/capture.h"
#include "tandem/tests/cuda_emulation/emulation.h"

namespace tandem {

struct Calls {
  uint64_t library, kernels;
  bool operator==(const Calls&) const = default;
};
/// The calls that f() makes to the device. Checks that it leaves no CUDA error behind.
template <class F>
Calls calls_of(F f) {
  const auto before = cuda_emulation::counters();
  f();
  const auto after = cuda_emulation::counters();
  const cudaError_t left = cudaPeekAtLastError();
  CHECK(left == cudaSuccess);
  return {after.library_calls - before.library_calls, after.launches - before.launches};
}

/// Records steps on the first device.
struct Capture {
  const CaptureKernels& kernels = backend(kCUDA).capture;
  void* capture = kernels.create(Device("cuda:0"));
  ~Capture() { kernels.destroy(capture); }
};

}  // namespace tandem
