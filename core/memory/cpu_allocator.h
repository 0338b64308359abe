// The CPU's caching allocator: small blocks come from per-thread free lists, large blocks are cut from ranges
// and merged again when free. After its first few iterations a training step allocates nothing from the
// system.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/core/device.h"

namespace tandem {

namespace cpu {
/// At least `bytes` bytes, 64-byte aligned, uninitialised. If the system has no memory left, empties the
/// cache and tries once more; then throws Error.
void* allocate(std::size_t bytes);
/// `bytes` must be the value passed to allocate. Any thread may free a block.
void deallocate(void* block, std::size_t bytes) noexcept;
/// Returns free memory to the system, including the calling thread's kernel workspaces. Other threads release
/// what they cache (at most 10 MB of small blocks each, and workspaces) the next time their lists overflow or
/// run empty.
void empty_cache();
/// Bytes obtained from the system and not returned yet.
std::size_t reserved_bytes();
/// The part of reserved_bytes() that is free for new requests. Small blocks cached by a thread do not count.
/// Once this exceeds 64 MiB or a quarter of the recent peak use, memory is returned to the system before more
/// is requested.
std::size_t cached_bytes();
/// Number of requests to the system so far. A warmed-up training step adds none.
uint64_t system_allocations();

/// Called around a fork(), so that the child does not find a half-modified list. Call unlock_after_fork in
/// both processes.
void lock_for_fork();
void unlock_after_fork();
}  // namespace cpu

/// Bytes of tensor storage on one device, of any backend. MemoryUse (core/backend/memory_use.h) is what its
/// allocator takes for them.
struct MemoryStats {
  int64_t current_bytes = 0;
  int64_t peak_bytes = 0;
  uint64_t allocations = 0;  ///< storages created so far
};
MemoryStats memory_stats(Device device);
/// Sets the peak to current usage.
void reset_peak_memory_stats(Device device);

namespace detail {
/// Counts a storage that is created (bytes > 0) or freed (bytes < 0).
void count_memory(Device device, int64_t bytes);
}  // namespace detail

}  // namespace tandem
