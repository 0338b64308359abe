// Shared by all CUB device functions: the two-phase call, the temporary storage, the queue.
#pragma once
#include <functional>
#include <type_traits>
#include <utility>

#include "tandem/tests/cuda_emulation/device.h"

namespace tandem::cuda_emulation {
/// The second call of a CUB function: cudaErrorInvalidValue if the storage is too small or not on the GPU.
/// Overwrites the storage, then calls `run`, in stream order.
cudaError_t enqueue_cub(const char* operation, void* storage, std::size_t bytes, std::size_t needed,
                        cudaStream_t stream, std::function<void()> run);
}  // namespace tandem::cuda_emulation

namespace cub::emulation {

/// The first call (without storage) returns the size and runs nothing; the second enqueues. The size depends
/// on the number of items.
template <class F>
cudaError_t two_phases(const char* operation, void* storage, std::size_t& bytes, int64_t items, cudaStream_t stream,
                       F run) {
  const std::size_t needed = 1024 + static_cast<std::size_t>(items > 0 ? items : 0) / 64 * 8;
  if (items < 0) return cudaErrorInvalidValue;
  if (storage == nullptr) {
    bytes = needed;
    return cudaSuccess;
  }
  return tandem::cuda_emulation::enqueue_cub(operation, storage, bytes, needed, stream, std::move(run));
}

template <class Iterator>
using value_of = std::remove_cvref_t<decltype(*std::declval<Iterator>())>;

}  // namespace cub::emulation

namespace cub {
/// Two buffers; the current one holds the data.
template <class T>
struct DoubleBuffer {
  T* d_buffers[2];
  int selector = 0;
  DoubleBuffer() : d_buffers{nullptr, nullptr} {}
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};
struct NullType {};
}  // namespace cub
