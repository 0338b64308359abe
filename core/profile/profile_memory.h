// The memory part of a profile: which storages were held when, and which at the peak of each device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/core/device.h"

namespace tandem::profiler::detail {

/// Records that a storage has been created or freed. Call after its bytes have been counted (memory_stats).
void note_created(const void* storage, Device device, std::size_t bytes) noexcept;
void note_freed(const void* storage, Device device, std::size_t bytes) noexcept;

/// The largest storages on devices of a type as far as a running profile knows, as the end of an error message; without
/// a profile, how to learn them.
std::string largest_storages(DeviceType type);

class MemoryLog {
 public:
  static constexpr std::size_t kMaxListed = 10;
  struct Event {
    int64_t time_ns;   // relative to the profile's start
    int64_t bytes;     // negative: freed
    int64_t creation;  // of a freed storage: the index of its creation, or -1 if it was there before
    int thread;        // that created it
    Device device;
  };
  struct Peak {
    Device device;
    int64_t bytes, time_ns, before;  // before: held when the profile first saw the device
    std::vector<Event> largest;      // created since then and held at the peak, largest first
  };

  /// Creations beyond `most` are dropped.
  explicit MemoryLog(int64_t most) : most_(static_cast<std::size_t>(most)) {}
  /// `held`: the bytes that the device holds after the event.
  void created(const void* storage, Device device, int64_t bytes, int64_t held, int64_t time_ns, int thread);
  void freed(const void* storage, Device device, int64_t bytes, int64_t held, int64_t time_ns);
  /// One per device, in the order in which they were first seen.
  std::vector<Peak> peaks() const;
  /// The largest storages held now on devices of this type.
  std::vector<Event> largest_now(DeviceType type) const;
  int64_t dropped() const;
  /// Calls f(event, bytes held on its device after it) in order.
  template <class F>
  void each(F&& f) const {
    std::lock_guard lock(mutex_);
    std::vector<Held> held = devices_;
    for (const Event& event : events_) {
      Held& now = of(held, event.device);
      now.bytes += event.bytes;
      f(event, now.bytes);
    }
  }

 private:
  struct Held {
    Device device;
    int64_t bytes;
  };
  static Held& of(std::vector<Held>& all, Device device);
  void see(Device device, int64_t before);
  std::vector<Event> largest(std::vector<int64_t> creations) const;

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  std::unordered_map<const void*, int64_t> live_;  // storages and the indices of their creations
  std::vector<Held> devices_;                      // what each held before its first event
  int64_t dropped_ = 0;
};

}  // namespace tandem::profiler::detail
