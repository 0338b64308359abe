// Helpers for the tests of the emulation.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tandem/tests/cuda_emulation/device.h"
#include "tandem/tests/cuda_emulation/emulation.h"

namespace tandem::cuda_emulation {

/// Device memory with initial values; freed at the end of the scope.
template <class T>
struct Array {
  T* data = nullptr;
  std::size_t count;
  explicit Array(std::size_t n) : count(n) {
    CHECK(cudaMalloc(reinterpret_cast<void**>(&data), n * sizeof(T)) == cudaSuccess);
  }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    CHECK(cudaMemcpy(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
  }
  ~Array() { cudaFree(data); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  /// The values now on the GPU; waits only for the legacy stream.
  std::vector<T> values() const {
    std::vector<T> out(count);
    CHECK(cudaMemcpy(out.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
    return out;
  }
};

struct Stream {
  cudaStream_t handle = nullptr;
  Stream() { CHECK(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking) == cudaSuccess); }
  ~Stream() { cudaStreamDestroy(handle); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return handle; }
  void synchronize() const { CHECK(cudaStreamSynchronize(handle) == cudaSuccess); }
};

struct Event {
  cudaEvent_t handle = nullptr;
  Event() { CHECK(cudaEventCreateWithFlags(&handle, cudaEventDisableTiming) == cudaSuccess); }
  ~Event() { cudaEventDestroy(handle); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return handle; }
};

/// Runs `f` in a child process. Returns "ended: " and its stderr output if it fails or is killed by a signal,
/// else "".
std::string last_words(void (*f)());

}  // namespace tandem::cuda_emulation
