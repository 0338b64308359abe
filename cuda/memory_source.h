// Where the allocator gets its memory and its marks in streams: small, so that tests can stand in for a card.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::cuda_impl {

/// A stream or an event as the allocator sees them: handles to compare and to hand back.
using StreamId = void*;
using EventId = void*;

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// nullptr when there is no such memory left. Throws Error on any other failure.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* memory) noexcept = 0;
  /// Bytes free and in all.
  struct Room {
    std::size_t free, total;
  };
  virtual Room room() = 0;
  /// Whether the device can be waited for, and memory given back to it: not while a step is being captured.
  virtual bool may_wait() { return true; }
  /// Waits until all work on the device has ended.
  virtual void synchronize() = 0;

  /// Whether `stream` is being captured: an event recorded there would never be reached.
  virtual bool records(StreamId stream) {
    static_cast<void>(stream);
    return false;
  }
  /// An event recorded in `stream`.
  virtual EventId mark(StreamId stream) = 0;
  virtual bool reached(EventId event) = 0;
  virtual void drop(EventId event) noexcept = 0;
};

}  // namespace tandem::cuda_impl
