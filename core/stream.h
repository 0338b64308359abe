// Streams and events: queues of work on a device, and markers in them. CPU kernels run immediately on the
// caller's thread, so a CPU stream is always empty and a CPU event is a point in time.
#pragma once
#include <utility>

#include "tandem/core/device.h"

namespace tandem {

/// A queue of work on one device; `handle` belongs to the backend and is null on the CPU.
struct StreamHandle {
  Device device;
  void* handle = nullptr;
};

class Stream {
 public:
  /// Creates a stream on `device`. Streams are move-only; the destructor destroys an owned stream.
  explicit Stream(Device device);
  /// A stream that belongs to somebody else.
  explicit Stream(StreamHandle handle) : handle_(handle) {}
  Stream(Stream&& other) noexcept : handle_(other.handle_), owned_(std::exchange(other.owned_, false)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream();
  /// The calling thread's current stream on `device`, not owned.
  static Stream current(Device device);
  /// The stream that is current in a thread that has chosen none, not owned.
  static Stream standard(Device device);
  Device device() const { return handle_.device; }
  /// Blocks the host until all work on the stream has completed.
  void synchronize() const;
  /// Whether all work on the stream has completed.
  bool query() const;
  /// Makes the stream current for the calling thread. It must live until another is current.
  void make_current() const;
  StreamHandle handle() const { return handle_; }

 private:
  StreamHandle handle_;
  bool owned_ = false;
};

/// Makes a stream current for the calling thread until the guard goes out of scope.
class StreamGuard {
 public:
  [[nodiscard]] explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  StreamHandle previous_;
};

class Event {
 public:
  explicit Event(DeviceType type);
  Event(Event&& other) noexcept : type_(other.type_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(type_, other.type_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();
  void record(const Stream& stream);
  /// Work submitted to `stream` after this call waits for the recorded point; the host does not wait.
  void wait(const Stream& stream) const;
  void synchronize() const;
  /// Whether the recorded point has been reached; true if none has been recorded.
  bool query() const;
  /// Milliseconds from this event to `end`. Both must be recorded and completed.
  double elapsed_ms(const Event& end) const;

 private:
  DeviceType type_;
  void* event_;
};

/// Blocks the host until all work on `device` has completed.
void synchronize(Device device);

}  // namespace tandem
