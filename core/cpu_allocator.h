// The CPU's caching allocator: small blocks from per-thread free lists, large ones kept for the next request
// of the same size class, so that a training step allocates nothing from the system after its first rounds.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/core/device.h"

namespace tandem {

namespace cpu {
/// At least `bytes` bytes, 64-byte aligned, not initialised. Throws Error when the system has none left.
void* allocate(std::size_t bytes);
/// `bytes` as given to allocate. Any thread may free.
void deallocate(void* block, std::size_t bytes) noexcept;
/// Gives cached large blocks back to the system.
void empty_cache();
/// Blocks taken from the system so far (not from the cache): a warm training step adds none.
uint64_t system_allocations();
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
