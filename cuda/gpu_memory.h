// The allocator's source on a real GPU, and pinned host memory.
#pragma once
#include <mutex>
#include <vector>

#include "tandem/cuda/memory_source.h"

namespace tandem::cuda_impl {

class GpuMemory final : public MemorySource {
 public:
  explicit GpuMemory(int device) : device_(device) {}
  ~GpuMemory() override;
  void* allocate(std::size_t bytes) override;
  void free(void* memory) noexcept override;
  Room room() override;
  bool may_wait() override;
  void synchronize() override;
  bool records(StreamId stream) override;
  EventId mark(StreamId stream) override;
  bool reached(EventId event) override;
  void drop(EventId event) noexcept override;

 private:
  int device_;
  std::mutex mutex_;
  std::vector<EventId> spare_;  // events for reuse
};

/// Page-locked memory that every GPU can access asynchronously. Freed blocks are cached; a block still in use
/// by a copy (pinned_used_by) waits for it. Throws Error if the system has no memory left.
void* allocate_pinned(std::size_t bytes);
void free_pinned(void* data);
/// Registers a copy on `stream` that uses the block containing `data`; returns false if it is not pinned
/// memory.
bool pinned_used_by(const void* data, StreamId stream);

}  // namespace tandem::cuda_impl
