// The CPU's caching allocator: small blocks from per-thread free lists, large ones cut from ranges that are
// joined when they are free, so that a training step allocates nothing from the system after its first
// rounds.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/core/device.h"

namespace tandem {

namespace cpu {
/// At least `bytes` bytes, 64-byte aligned, not initialised. When the system has none left, it is asked again
/// without the cache; then Error.
void* allocate(std::size_t bytes);
/// `bytes` as given to allocate. Any thread may free.
void deallocate(void* block, std::size_t bytes) noexcept;
/// Gives free memory back to the system, the calling thread's working memory of kernels included. What other
/// threads keep for themselves (small blocks of 10 MB at most, working memory) follows when they next come to
/// the end of it.
void empty_cache();
/// Bytes taken from the system and not given back.
std::size_t reserved_bytes();
/// Those of them that serve the next requests. Small blocks that a thread keeps for itself do not count.
/// Beyond 64 MiB or a quarter of the most that was in use lately, memory goes back before more is taken.
std::size_t cached_bytes();
/// Times that the system was asked for memory so far: a warm training step adds none.
uint64_t system_allocations();

/// Around a fork(), so that the child finds no list half changed; unlock_after_fork in both processes.
void lock_for_fork();
void unlock_after_fork();
}  // namespace cpu

/// Bytes of tensor storage on one device.
struct MemoryStats {
  int64_t current_bytes = 0;
  int64_t peak_bytes = 0;
  uint64_t allocations = 0;  ///< storages made so far
};
MemoryStats memory_stats(Device device);
/// Sets the peak to what is in use now.
void reset_peak_memory_stats(Device device);

namespace detail {
/// Counts a storage that comes (bytes > 0) or goes (bytes < 0).
void count_memory(Device device, int64_t bytes);
}  // namespace detail

}  // namespace tandem
