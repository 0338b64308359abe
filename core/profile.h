// The profiler: records where a program spends its time, as a Chrome trace (chrome://tracing,
// ui.perfetto.dev).
//
//   TANDEM_PROFILE=trace.json ./program      profiles the whole run, written at exit; "%p" becomes the process id
//   profiler::start("trace.json"); …; profiler::stop();
//   { profiler::Record span("augment"); … }  a user-defined span
//
// When profiling is off, a span costs one relaxed load. When it is on, spans go to lock-free per-thread
// buffers, which together hold at most `max_spans`; the file counts the rest ("dropped_spans"). Work on a
// device with its own queue appears a second time, on the track "cuda:0 stream", with the time it took on the
// device.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/core/device.h"

namespace tandem::profiler {

namespace detail {
/// Profiles and recorders of kernels (core/backend/kernel_recorder.h) that are running.
extern constinit std::atomic<int> watchers;
class StreamTrack;
/// A span that has begun and not ended.
struct Open {
  uint64_t session = 0;
  int64_t begin_ns = 0;
  StreamTrack* track = nullptr;
  void* event = nullptr;
};
}  // namespace detail
/// Whether a profile is running, or a thread's kernels are recorded.
inline bool is_on() { return detail::watchers.load(std::memory_order_relaxed) != 0; }

inline constexpr int64_t kMaxSpans = 1'000'000;  // 80 MB

/// Throws Error if a profile is already running or if `path` cannot be written.
void start(const std::string& path, int64_t max_spans = kMaxSpans);
/// Writes the finished spans of all threads to the file. Waits for the devices that took part. Does nothing
/// if no profile is running. Throws Error if the file cannot be written.
void stop();

/// Names the calling thread in the profile and for the system, which keeps 15 bytes.
void name_thread(const char* name) noexcept;

/// A span from construction to the end of the scope. `name` is copied; `category` must be a literal.
class Record {
 public:
  explicit Record(std::string_view name, const char* category = "user") {
    if (is_on()) [[unlikely]]
      begin(name, category);
  }
  /// Also appears on the track of `device`'s current stream, if it has one.
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

/// Disables device spans from this thread in its scope, because a stream being captured cannot be timed.
class HostOnly {
 public:
  HostOnly();
  ~HostOnly();
  HostOnly(const HostOnly&) = delete;
  HostOnly& operator=(const HostOnly&) = delete;
};

}  // namespace tandem::profiler
