// Backend services other than arithmetic: memory, copies, streams, events, device properties.
#pragma once
#include <string>
#include <vector>

#include "tandem/core/backend/kernel.h"
#include "tandem/core/backend/memory_use.h"
#include "tandem/core/stream.h"

namespace tandem {

struct DeviceInfo {
  std::string name;    ///< "AMD EPYC …, 2 threads"
  int64_t memory = 0;  ///< total memory in bytes
  int64_t memory_free = 0;
  int threads = 0;     ///< CPU threads, or multiprocessors
  std::string detail;  ///< "compute capability 9.0, one of 2 on GPU 0"
};

struct RuntimeKernels {
  Kernel<"", int()> device_count;
  Kernel<"", DeviceInfo(int index)> device_info;
  /// What computes: the backend's own kernels ("own kernels for AVX-512"), or libraries and their versions.
  Kernel<"", std::vector<std::string>()> computes_with;
  Kernel<"", int()> current_device;
  Kernel<"", void(int index)> set_current_device;

  Kernel<"", void*(Device, std::size_t bytes)> allocate;
  Kernel<"", void(Device, void* data, std::size_t bytes)> free;
  /// Marks memory as used by `stream` in addition to the stream it was allocated for: once freed, it is not
  /// reused before the work now queued on `stream` has completed.
  Kernel<"", void(Device, void* data, StreamHandle stream)> record_stream;
  Kernel<"", MemoryUse(Device)> memory_use;
  Kernel<"", void(Device)> reset_memory_peaks;
  /// Returns unused cached memory to the system.
  Kernel<"", void(Device)> empty_cache;
  Kernel<"", void*(std::size_t bytes)> allocate_pinned;
  Kernel<"", void(void* data)> free_pinned;
  /// Copies bytes between this backend's device and the host or another device of this backend, ordered with
  /// the current streams. Returns when the host's buffer may be reused, unless `non_blocking`.
  Kernel<"copy_bytes",
         void(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes, bool non_blocking)>
      copy_bytes;

  Kernel<"", StreamHandle(Device)> create_stream;
  Kernel<"", void(StreamHandle)> destroy_stream;
  Kernel<"", StreamHandle(Device)> current_stream;
  /// A null handle is the device's own stream.
  Kernel<"", void(StreamHandle)> set_current_stream;
  Kernel<"", bool(StreamHandle)> stream_is_done;
  Kernel<"synchronize_stream", void(StreamHandle), HalfCalls{}, ShownOn::kHost> synchronize_stream;
  Kernel<"synchronize", void(Device), HalfCalls{}, ShownOn::kHost> synchronize;
  Kernel<"", void*()> create_event;
  Kernel<"", void(void* event)> destroy_event;
  Kernel<"", void(void* event, StreamHandle)> record_event;
  Kernel<"", void(void* event, StreamHandle)> wait_event;
  Kernel<"synchronize_event", void(void* event), HalfCalls{}, ShownOn::kHost> synchronize_event;
  Kernel<"", bool(void* event)> event_is_done;
  Kernel<"", double(void* from, void* to)> elapsed_ms;
};

}  // namespace tandem
