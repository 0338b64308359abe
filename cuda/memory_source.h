// The allocator's source of memory and events; a small interface, so tests can replace the GPU.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::cuda_impl {

/// Opaque handles of streams and events.
using StreamId = void*;
using EventId = void*;

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// nullptr if there is not enough memory left. Throws Error on any other failure.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* memory) noexcept = 0;
  /// Bytes free and in total.
  struct Room {
    std::size_t free, total;
  };
  virtual Room room() = 0;
  /// Whether the allocator may wait for the device and return memory to it: not while a step is being
  /// captured.
  virtual bool may_wait() { return true; }
  /// Waits until all work on the device has completed.
  virtual void synchronize() = 0;

  /// Whether `stream` is being captured: an event recorded on it would never be reached.
  virtual bool records(StreamId stream) {
    static_cast<void>(stream);
    return false;
  }
  /// Records an event on `stream`.
  virtual EventId mark(StreamId stream) = 0;
  virtual bool reached(EventId event) = 0;
  virtual void drop(EventId event) noexcept = 0;
};

}  // namespace tandem::cuda_impl
