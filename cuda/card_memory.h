// The allocator's source on a real card, and pinned host memory.
#pragma once
#include <mutex>
#include <vector>

#include "tandem/cuda/memory_source.h"

namespace tandem::cuda_impl {

class CardMemory final : public MemorySource {
 public:
  explicit CardMemory(int device) : device_(device) {}
  ~CardMemory() override;
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
  std::vector<EventId> spare_;  // events to use again
};

/// Page-locked memory that every card can read while the host goes on. Blocks are kept for the next request;
/// one that a copy still reads (pinned_used_by) waits for it. Throws Error when the system has none left.
void* allocate_pinned(std::size_t bytes);
void free_pinned(void* data);
/// A copy in `stream` reads or writes the block that holds `data`; false when it is not pinned memory.
bool pinned_used_by(const void* data, StreamId stream);

}  // namespace tandem::cuda_impl
