// Counts what the emulated device is asked to do.
#pragma once
#include <doctest/doctest.h>

#include "tandem/core/backend/backend.h"
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

}  // namespace tandem
