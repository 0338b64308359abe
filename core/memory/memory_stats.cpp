// Counters of tensor storage, per device.
#include <atomic>

#include "tandem/core/memory/cpu_allocator.h"

namespace tandem {

namespace {
constexpr int kMaxIndex = 64;
struct alignas(64) Counter {
  std::atomic<int64_t> current{0}, peak{0};
  std::atomic<uint64_t> made{0};
};
Counter counters[2][kMaxIndex];
Counter& counter(Device device) {
  return counters[static_cast<int>(device.type())][device.has_index() ? device.index() : 0];
}
}  // namespace

namespace detail {
void count_memory(Device device, int64_t bytes) {
  Counter& c = counter(device);
  const int64_t now = c.current.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (bytes < 0) return;
  c.made.fetch_add(1, std::memory_order_relaxed);
  int64_t peak = c.peak.load(std::memory_order_relaxed);
  while (now > peak && !c.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}
}  // namespace detail

MemoryStats memory_stats(Device device) {
  const Counter& c = counter(device);
  return {c.current.load(), c.peak.load(), c.made.load()};
}
void reset_peak_memory_stats(Device device) { counter(device).peak = counter(device).current.load(); }

}  // namespace tandem
