// The profiler: where a program's time goes, as a Chrome trace (chrome://tracing, ui.perfetto.dev).
//
//   TANDEM_PROFILE=trace.json ./program      the whole run, written when it ends; "%p" becomes the process id
//   profiler::start("trace.json"); …; profiler::stop();
//   { profiler::Record span("augment"); … }  a span of one's own
//
// Off, a span costs one relaxed load. On, it goes to a buffer of its thread, without locks; the buffers of
// all threads hold at most `most_spans`, further ones are counted in the file ("dropped_spans"). Work of a
// device with a queue of its own appears a second time, on the track "cuda:0 stream", as long as the device
// took.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/core/device.h"

namespace tandem::profiler {

namespace detail {
extern constinit std::atomic<bool> on;
class StreamTrack;
/// A span that has begun.
struct Open {
  uint64_t session = 0;
  int64_t begin_ns = 0;
  StreamTrack* track = nullptr;
  void* event = nullptr;
};
}  // namespace detail
inline bool is_on() { return detail::on.load(std::memory_order_relaxed); }

inline constexpr int64_t kMostSpans = 1'000'000;  // 80 MB

/// Throws Error when a profile is being taken already, or when `path` cannot be written.
void start(const std::string& path, int64_t most_spans = kMostSpans);
/// Writes the file: spans that have ended by now, of all threads. Waits for the devices that took part. Does
/// nothing when no profile is being taken. Throws Error when the file cannot be written.
void stop();

/// The calling thread's name in the profile and for the system, which keeps 15 bytes of it.
void name_thread(const char* name) noexcept;

/// A span from construction to the end of the scope. `name` is copied; `category` must be a literal.
class Record {
 public:
  explicit Record(std::string_view name, const char* category = "user") {
    if (is_on()) [[unlikely]]
      begin(name, category);
  }
  /// On the track of the current stream of `device` too, where that has one.
  Record(std::string_view name, const char* category, Device device) {
    if (is_on()) [[unlikely]]
      begin(name, category, &device);
  }
  ~Record() {
    if (name_ != nullptr) [[unlikely]]
      end();
  }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

 private:
  void begin(std::string_view name, const char* category, const Device* device = nullptr) noexcept;
  void end() noexcept;

  const char* name_ = nullptr;
  const char* category_;
  detail::Open open_;
};

/// No device spans from this thread in its scope: a stream that is being captured cannot be timed.
class HostOnly {
 public:
  HostOnly();
  ~HostOnly();
  HostOnly(const HostOnly&) = delete;
  HostOnly& operator=(const HostOnly&) = delete;
};

}  // namespace tandem::profiler
