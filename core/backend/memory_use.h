// A backend's use of a device's memory. MemoryStats (core/memory/cpu_allocator.h) counts tensor storage instead, the
// same way on every device: without rounding, caches and workspaces.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem {

/// For tensors, in bytes.
struct MemoryUse {
  std::size_t allocated = 0, allocated_peak = 0;  ///< handed out
  std::size_t reserved = 0, reserved_peak = 0;    ///< taken from the system
  uint64_t allocations = 0;                       ///< blocks handed out so far
  uint64_t system_allocations = 0;                ///< requests to the system so far
};

}  // namespace tandem
