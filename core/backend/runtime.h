// What a backend offers beside arithmetic: memory, copies, streams, events, facts about its devices.
#pragma once
#include <string>
#include <vector>

#include "tandem/core/backend/kernel.h"
#include "tandem/core/stream.h"

namespace tandem {

struct DeviceInfo {
  std::string name;    ///< "AMD EPYC …, 2 threads"
  int64_t memory = 0;  ///< bytes of memory in all
  int64_t memory_free = 0;
  int threads = 0;     ///< CPU threads, or multiprocessors
  std::string detail;  ///< "compute capability 9.0"; "half of card 0"
};

/// What a backend holds of a device's memory for tensors, in bytes.
struct MemoryUse {
  int64_t allocated = 0, allocated_peak = 0;  ///< handed out
  int64_t reserved = 0, reserved_peak = 0;    ///< taken from the system
  uint64_t system_allocations = 0;            ///< times that it was asked for more
};

struct RuntimeKernels {
  Kernel<"", int()> device_count;
  Kernel<"", DeviceInfo(int index)> device_info;
  /// Versions of the libraries the backend stands on: "Eigen 3.4.0".
  Kernel<"", std::vector<std::string>()> versions;
  Kernel<"", int()> current_device;
  Kernel<"", void(int index)> set_current_device;

  Kernel<"", void*(Device, std::size_t bytes)> allocate;
  Kernel<"", void(Device, void* data, std::size_t bytes)> free;
  /// `stream` uses the memory as well as the stream it was allocated for: freed, it is not handed out again
  /// before what `stream` holds then has ended.
  Kernel<"", void(Device, void* data, StreamHandle stream)> record_stream;
  Kernel<"", MemoryUse(Device)> memory_use;
  Kernel<"", void(Device)> reset_memory_peaks;
  /// Gives memory that no tensor uses back to the system.
  Kernel<"", void(Device)> empty_cache;
  Kernel<"", void*(std::size_t bytes)> allocate_pinned;
  Kernel<"", void(void* data)> free_pinned;
  /// Bytes between this backend's device and the host or a device of the same backend, in order of the
  /// current streams; returns when the host's side may be reused, unless `non_blocking`.
  Kernel<"copy_bytes", void(void* to, Device to_device, const void* from, Device from_device,
                            std::size_t bytes, bool non_blocking)>
      copy_bytes;

  Kernel<"", StreamHandle(Device)> create_stream;
  Kernel<"", void(StreamHandle)> destroy_stream;
  Kernel<"", StreamHandle(Device)> current_stream;
  Kernel<"", void(StreamHandle)> set_current_stream;
  Kernel<"synchronize_stream", void(StreamHandle), Shown::kHost> synchronize_stream;
  Kernel<"synchronize", void(Device), Shown::kHost> synchronize;
  Kernel<"", void*()> create_event;
  Kernel<"", void(void* event)> destroy_event;
  Kernel<"", void(void* event, StreamHandle)> record_event;
  Kernel<"", void(void* event, StreamHandle)> wait_event;
  Kernel<"synchronize_event", void(void* event), Shown::kHost> synchronize_event;
  Kernel<"", double(void* from, void* to)> elapsed_ms;
};

}  // namespace tandem
