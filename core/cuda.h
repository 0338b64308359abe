// Queries and controls for CUDA (LibTorch's torch::cuda). Available in builds without CUDA too.
#pragma once
#include <cstddef>

#include "tandem/core/random/generator.h"
#include "tandem/core/stream.h"

namespace tandem::cuda {

inline std::size_t device_count() { return static_cast<std::size_t>(tandem::device_count(kCUDA)); }
inline bool is_available() { return device_count() > 0; }
inline bool cudnn_is_available() { return is_available(); }
/// All devices share the default generator.
inline void manual_seed(uint64_t seed) { tandem::manual_seed(seed); }
inline void manual_seed_all(uint64_t seed) { tandem::manual_seed(seed); }
/// Waits for all work on a device (-1: the current one).
inline void synchronize(int64_t index = -1) { tandem::synchronize(Device(kCUDA, static_cast<DeviceIndex>(index))); }

// ---- memory of a device (-1: the current one), in bytes. These throw Error if there is no such device.
/// Bytes held by tensors.
int64_t memory_allocated(int64_t index = -1);
int64_t max_memory_allocated(int64_t index = -1);
/// Bytes taken from the GPU. The part beyond memory_allocated() is cached for later requests.
int64_t memory_reserved(int64_t index = -1);
int64_t max_memory_reserved(int64_t index = -1);
/// Resets the peaks to current usage.
void reset_peak_memory_stats(int64_t index = -1);
/// Returns unused cached memory to the GPUs, for all devices.
void empty_cache();

}  // namespace tandem::cuda
