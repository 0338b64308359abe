// Memory statistics of CUDA devices, through the backend's table.
#include "tandem/core/cuda.h"

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"

namespace tandem::cuda {
namespace {
Device device_of(int64_t index) { return resolve(Device(kCUDA, static_cast<DeviceIndex>(index))); }
MemoryUse use_of(int64_t index) {
  const Device device = device_of(index);
  return backend(device).runtime.memory_use(device);
}
}  // namespace

int64_t memory_allocated(int64_t index) { return static_cast<int64_t>(use_of(index).allocated); }
int64_t max_memory_allocated(int64_t index) { return static_cast<int64_t>(use_of(index).allocated_peak); }
int64_t memory_reserved(int64_t index) { return static_cast<int64_t>(use_of(index).reserved); }
int64_t max_memory_reserved(int64_t index) { return static_cast<int64_t>(use_of(index).reserved_peak); }
void reset_peak_memory_stats(int64_t index) {
  const Device device = device_of(index);
  backend(device).runtime.reset_memory_peaks(device);
}
void empty_cache() {
  for (int i = 0; i < tandem::device_count(kCUDA); ++i) {
    const Device device(kCUDA, static_cast<DeviceIndex>(i));
    backend(device).runtime.empty_cache(device);
  }
}

}  // namespace tandem::cuda
