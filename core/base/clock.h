// The clocks of the library's own timings: one that never jumps, and the CPU time of the process.
#pragma once
#include <chrono>
#include <cstdint>
#include <ctime>

namespace tandem {

inline int64_t nanoseconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}
inline double seconds_now() { return 1e-9 * static_cast<double>(nanoseconds_now()); }

/// Summed over all threads; other programs hardly affect it.
inline double cpu_seconds_now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace tandem
