// Memory, streams and events on the CPU. Kernels run synchronously, so waiting does nothing.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

#include "tandem/core/backend/runtime.h"
#include "tandem/core/cpu/kernel_sets.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "CPU";
}

DeviceInfo device_info(int) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  return {processor_name(), sysconf(_SC_PHYS_PAGES) * page, sysconf(_SC_AVPHYS_PAGES) * page,
          std::max(1, get_num_threads() / device_count()), ""};
}

// "own kernels for AVX2", then what else the build has.
std::vector<std::string> computes_with() {
  std::vector<std::string> parts(1);
  for (const KernelSet& set : kernel_sets()) {
    if (set.chosen)
      parts[0] = "own kernels for " + set.title;
    else if (set.missing.empty())
      parts.push_back(set.title + " available");
    else
      parts.push_back(concat(set.title, " not available (", set.missing, ")"));
  }
  const int threads = get_num_threads();
  parts.push_back(concat(threads, threads == 1 ? " thread" : " threads"));
  return parts;
}

using Clock = std::chrono::steady_clock;
Clock::time_point& point(void* event) { return *static_cast<Clock::time_point*>(event); }

}  // namespace

constinit const RuntimeKernels runtime_kernels{
    .device_count = +[] { return device_count(); },
    .device_info = device_info,
    .computes_with = computes_with,
    .current_device = +[] { return current_device(); },
    .set_current_device = +[](int index) { set_current_device(index); },
    .allocate = +[](Device, std::size_t bytes) { return cpu::allocate(bytes); },
    .free = +[](Device, void* data, std::size_t bytes) { cpu::deallocate(data, bytes); },
    .record_stream = +[](Device, void*, StreamHandle) {},
    .memory_use =
        +[](Device device) {
          const MemoryStats stats = memory_stats(device);
          const auto now = static_cast<std::size_t>(stats.current_bytes);
          const auto peak = static_cast<std::size_t>(stats.peak_bytes);
          return MemoryUse{now, peak, now, peak, stats.allocations, system_allocations()};
        },
    .reset_memory_peaks = +[](Device device) { reset_peak_memory_stats(device); },
    .empty_cache = +[](Device) { cpu::empty_cache(); },
    .allocate_pinned = +[](std::size_t bytes) { return cpu::allocate(bytes); },
    .free_pinned = +[](void*) {},
    .copy_bytes =
        +[](void* to, Device, const void* from, Device, std::size_t bytes, bool) {
          if (bytes != 0) std::memcpy(to, from, bytes);
        },
    .create_stream =
        +[](Device device) {
          return StreamHandle{device, nullptr};
        },
    .destroy_stream = +[](StreamHandle) {},
    .current_stream =
        +[](Device device) {
          return StreamHandle{device, nullptr};
        },
    .set_current_stream = +[](StreamHandle) {},
    .stream_is_done = +[](StreamHandle) { return true; },
    .synchronize_stream = +[](StreamHandle) {},
    .synchronize = +[](Device) {},
    .create_event = +[]() -> void* { return new Clock::time_point(); },
    .destroy_event = +[](void* event) { delete &point(event); },
    .record_event = +[](void* event, StreamHandle) { point(event) = Clock::now(); },
    .wait_event = +[](void*, StreamHandle) {},
    .synchronize_event = +[](void*) {},
    .event_is_done = +[](void*) { return true; },
    .elapsed_ms = +[](void* from,
                      void* to) { return std::chrono::duration<double, std::milli>(point(to) - point(from)).count(); },
};

}  // namespace tandem::cpu
