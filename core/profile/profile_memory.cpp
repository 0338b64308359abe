// The log of storages that a profile keeps (profile_memory.h).
#include "tandem/core/profile/profile_memory.h"

#include <algorithm>
#include <set>

namespace tandem::profiler::detail {

MemoryLog::Held& MemoryLog::of(std::vector<Held>& all, Device device) {
  return *std::find_if(all.begin(), all.end(), [&](const Held& held) { return held.device == device; });
}

void MemoryLog::see(Device device, int64_t before) {
  for (const Held& held : devices_)
    if (held.device == device) return;
  devices_.push_back({device, before});
}

void MemoryLog::created(const void* storage, Device device, int64_t bytes, int64_t held, int64_t time_ns, int thread) {
  std::lock_guard lock(mutex_);
  if (events_.size() >= most_) {
    ++dropped_;
    return;
  }
  see(device, held - bytes);
  events_.push_back({time_ns, bytes, -1, thread, device});
  live_[storage] = static_cast<int64_t>(events_.size()) - 1;
}

void MemoryLog::freed(const void* storage, Device device, int64_t bytes, int64_t held, int64_t time_ns) {
  std::lock_guard lock(mutex_);
  const auto found = live_.find(storage);
  // One that was there before looks like one whose creation was dropped.
  if (found == live_.end() && dropped_ > 0) return;
  see(device, held + bytes);
  events_.push_back({time_ns, -bytes, found == live_.end() ? -1 : found->second, 0, device});
  if (found != live_.end()) live_.erase(found);
}

std::vector<MemoryLog::Event> MemoryLog::largest(std::vector<int64_t> creations) const {
  const std::size_t count = std::min(kMaxListed, creations.size());
  std::partial_sort(creations.begin(), creations.begin() + static_cast<std::ptrdiff_t>(count), creations.end(),
                    [&](int64_t a, int64_t b) {
                      const int64_t x = events_[static_cast<std::size_t>(a)].bytes,
                                    y = events_[static_cast<std::size_t>(b)].bytes;
                      return x != y ? x > y : a < b;
                    });
  std::vector<Event> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(events_[static_cast<std::size_t>(creations[i])]);
  return result;
}

std::vector<MemoryLog::Peak> MemoryLog::peaks() const {
  std::lock_guard lock(mutex_);
  std::vector<Peak> peaks;
  for (const Held& device : devices_) {
    Peak peak{device.device, device.bytes, 0, device.bytes, {}};
    std::size_t end = 0;  // events until the peak
    int64_t bytes = device.bytes;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (!(events_[i].device == device.device)) continue;
      bytes += events_[i].bytes;
      if (bytes > peak.bytes) peak.bytes = bytes, peak.time_ns = events_[i].time_ns, end = i + 1;
    }
    std::set<int64_t> held;
    for (std::size_t i = 0; i < end; ++i) {
      if (!(events_[i].device == device.device)) continue;
      events_[i].bytes >= 0 ? (void)held.insert(static_cast<int64_t>(i)) : (void)held.erase(events_[i].creation);
    }
    peak.largest = largest({held.begin(), held.end()});
    peaks.push_back(std::move(peak));
  }
  return peaks;
}

std::vector<MemoryLog::Event> MemoryLog::largest_now(DeviceType type) const {
  std::lock_guard lock(mutex_);
  std::vector<int64_t> creations;
  for (const auto& [storage, creation] : live_)
    if (events_[static_cast<std::size_t>(creation)].device.type() == type) creations.push_back(creation);
  return largest(std::move(creations));
}

int64_t MemoryLog::dropped() const {
  std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace tandem::profiler::detail
