// What programs ask about CUDA (LibTorch's torch::cuda). Works in a build without it.
#pragma once
#include <cstddef>

#include "tandem/core/generator.h"
#include "tandem/core/stream.h"

namespace tandem::cuda {

inline std::size_t device_count() { return static_cast<std::size_t>(tandem::device_count(kCUDA)); }
inline bool is_available() { return device_count() > 0; }
inline bool cudnn_is_available() { return is_available(); }
/// All devices share the default generator.
inline void manual_seed(uint64_t seed) { tandem::manual_seed(seed); }
inline void manual_seed_all(uint64_t seed) { tandem::manual_seed(seed); }
/// Waits for all work of a device (-1: the current one).
inline void synchronize(int64_t index = -1) {
  tandem::synchronize(Device(kCUDA, static_cast<DeviceIndex>(index)));
}

// ---- memory of a device (-1: the current one), in bytes. Throws Error when there is none.
/// What tensors hold.
int64_t memory_allocated(int64_t index = -1);
int64_t max_memory_allocated(int64_t index = -1);
/// What has been taken from the card; the difference is kept for what comes next.
int64_t memory_reserved(int64_t index = -1);
int64_t max_memory_reserved(int64_t index = -1);
/// The peaks begin anew at what is held now.
void reset_peak_memory_stats(int64_t index = -1);
/// Gives what no tensor uses back to the cards, that of all devices.
void empty_cache();

}  // namespace tandem::cuda
