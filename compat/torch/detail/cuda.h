// LibTorch's c10::cuda and at::cuda: guards, streams, events and graphs of CUDA devices. Everything is declared in
// torch::cuda, which at and c10 see.
#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <ostream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/core/cuda_graph.h"
#include "tandem/tandem.h"
#include "torch/detail/core.h"

struct CUstream_st;  // cudaStream_t points to it

namespace torch::cuda {

using tandem::cuda::device_count;
inline tandem::DeviceIndex current_device() { return tandem::resolve(tandem::kCUDA).index(); }
inline void device_synchronize() { tandem::cuda::synchronize(); }
/// Makes a GPU current until the guard goes out of scope.
class CUDAGuard : public tandem::DeviceGuard {
 public:
  explicit CUDAGuard(tandem::DeviceIndex index) : DeviceGuard(tandem::Device(tandem::kCUDA, index)) {}
  explicit CUDAGuard(tandem::Device device) : DeviceGuard(device) {}
};
class OptionalCUDAGuard : public OptionalDeviceGuard {
 public:
  using OptionalDeviceGuard::OptionalDeviceGuard;
  explicit OptionalCUDAGuard(std::optional<tandem::DeviceIndex> index) {
    if (index) set_index(*index);
  }
  void set_index(tandem::DeviceIndex index) { reset_device(tandem::Device(tandem::kCUDA, index)); }
};

/// A stream of a CUDA device, as a value.
class CUDAStream {
 public:
  explicit CUDAStream(tandem::StreamHandle handle) : handle_(handle) {}
  explicit CUDAStream(const tandem::Stream& stream) : handle_(stream.handle()) {}
  tandem::Device device() const { return handle_.device; }
  tandem::DeviceIndex device_index() const { return handle_.device.index(); }
  tandem::DeviceType device_type() const { return tandem::kCUDA; }
  int64_t id() const { return static_cast<int64_t>(reinterpret_cast<intptr_t>(handle_.handle)); }
  CUstream_st* stream() const { return static_cast<CUstream_st*>(handle_.handle); }
  operator CUstream_st*() const { return stream(); }
  tandem::Stream unwrap() const { return tandem::Stream(handle_); }
  operator tandem::Stream() const { return unwrap(); }
  void synchronize() const { unwrap().synchronize(); }
  bool query() const { return unwrap().query(); }
  /// All streams have the same priority.
  int priority() const { return 0; }
  friend bool operator==(const CUDAStream& a, const CUDAStream& b) {
    return a.device() == b.device() && a.stream() == b.stream();
  }
  friend std::ostream& operator<<(std::ostream& out, const CUDAStream& s) {
    return out << "stream " << s.id() << " on device " << s.device();
  }

 private:
  tandem::StreamHandle handle_;
};

namespace detail {
inline tandem::Device device_at(tandem::DeviceIndex index) {
  return tandem::resolve(index < 0 ? tandem::Device(tandem::kCUDA) : tandem::Device(tandem::kCUDA, index));
}
}  // namespace detail
/// One of 32 streams of a device, in turn; they live as long as the program. No stream has a higher priority.
inline CUDAStream getStreamFromPool(bool /*high_priority*/ = false, tandem::DeviceIndex index = -1) {
  static std::mutex mutex;
  static auto* pools = new std::unordered_map<int, std::pair<std::vector<tandem::Stream>, std::size_t>>;
  const tandem::Device device = detail::device_at(index);
  std::lock_guard lock(mutex);
  auto& [streams, next] = (*pools)[device.index()];
  if (streams.size() < 32) streams.emplace_back(device);
  return CUDAStream(streams[next++ % 32]);
}
inline CUDAStream getStreamFromPool(int /*priority*/, tandem::DeviceIndex index = -1) {
  return getStreamFromPool(false, index);
}
inline CUDAStream getStreamFromExternal(CUstream_st* stream, tandem::DeviceIndex index) {
  return CUDAStream(tandem::StreamHandle{detail::device_at(index), stream});
}
inline CUDAStream getDefaultCUDAStream(tandem::DeviceIndex index = -1) {
  return CUDAStream(tandem::Stream::standard(detail::device_at(index)));
}
inline CUDAStream getCurrentCUDAStream(tandem::DeviceIndex index = -1) {
  return CUDAStream(tandem::Stream::current(detail::device_at(index)));
}
/// For the calling thread; the current device stays.
inline void setCurrentCUDAStream(CUDAStream stream) { stream.unwrap().make_current(); }

/// Makes a stream and its device current until the guard goes out of scope.
class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(CUDAStream stream)
      : device_(stream.device()), original_(getCurrentCUDAStream(stream.device_index())), current_(stream) {
    setCurrentCUDAStream(stream);
  }
  ~CUDAStreamGuard() { setCurrentCUDAStream(original_); }
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;
  void reset_stream(CUDAStream stream) {
    setCurrentCUDAStream(original_);
    device_.reset_device(stream.device());
    original_ = getCurrentCUDAStream(stream.device_index());
    current_ = stream;
    setCurrentCUDAStream(stream);
  }
  /// The stream that was current on the device of the guard's stream. LibTorch returns that of the previous device.
  CUDAStream original_stream() const { return original_; }
  CUDAStream current_stream() const { return current_; }
  tandem::Device original_device() const { return device_.original_device(); }
  tandem::Device current_device() const { return current_.device(); }

 private:
  tandem::DeviceGuard device_;
  CUDAStream original_, current_;
};
class OptionalCUDAStreamGuard {
 public:
  OptionalCUDAStreamGuard() = default;
  explicit OptionalCUDAStreamGuard(CUDAStream stream) { guard_.emplace(stream); }
  explicit OptionalCUDAStreamGuard(std::optional<CUDAStream> stream) {
    if (stream) guard_.emplace(*stream);
  }
  void reset_stream(CUDAStream stream) { guard_.emplace(stream); }
  void reset() { guard_.reset(); }
  std::optional<CUDAStream> original_stream() const {
    return guard_ ? std::optional(guard_->original_stream()) : std::nullopt;
  }
  std::optional<CUDAStream> current_stream() const {
    return guard_ ? std::optional(guard_->current_stream()) : std::nullopt;
  }

 private:
  std::optional<CUDAStreamGuard> guard_;
};
/// Makes one stream of each of several devices current; the current device stays.
class CUDAMultiStreamGuard {
 public:
  explicit CUDAMultiStreamGuard(tandem::ArrayRef<CUDAStream> streams) {
    for (const CUDAStream& stream : streams) original_.push_back(getCurrentCUDAStream(stream.device_index()));
    for (const CUDAStream& stream : streams) setCurrentCUDAStream(stream);
  }
  ~CUDAMultiStreamGuard() {
    for (const CUDAStream& stream : original_) setCurrentCUDAStream(stream);
  }
  CUDAMultiStreamGuard(const CUDAMultiStreamGuard&) = delete;
  CUDAMultiStreamGuard& operator=(const CUDAMultiStreamGuard&) = delete;

 private:
  std::vector<CUDAStream> original_;
};

/// A point in a stream's work.
class CUDAEvent {
 public:
  CUDAEvent() = default;
  /// Every event takes the time, whatever the flags.
  explicit CUDAEvent(unsigned int /*flags*/) {}
  /// Whether it has been recorded.
  bool isCreated() const { return event_.has_value(); }
  std::optional<tandem::Device> device() const { return stream_ ? std::optional(stream_->device()) : std::nullopt; }
  tandem::DeviceIndex device_index() const { return stream_ ? stream_->device_index() : tandem::DeviceIndex{-1}; }
  void record() { record(getCurrentCUDAStream()); }
  void record(const CUDAStream& stream) {
    if (!event_) event_.emplace(tandem::kCUDA);
    event_->record(stream.unwrap());
    stream_ = stream;
  }
  void recordOnce(const CUDAStream& stream) {
    if (!isCreated()) record(stream);
  }
  /// Work submitted to `stream` from now on waits for this point; the host does not.
  void block(const CUDAStream& stream) {
    if (event_) event_->wait(stream.unwrap());
  }
  bool query() const { return !event_ || event_->query(); }
  void synchronize() const {
    if (event_) event_->synchronize();
  }
  /// Milliseconds to `end`.
  float elapsed_time(const CUDAEvent& end) const {
    if (!event_ || !end.event_) tandem::fail("elapsed_time: an event has not been recorded");
    return static_cast<float>(event_->elapsed_ms(*end.event_));
  }

 private:
  std::optional<tandem::Event> event_;
  std::optional<CUDAStream> stream_;
};

using MempoolId_t = std::pair<unsigned long long, unsigned long long>;
inline MempoolId_t graph_pool_handle() { return {}; }
/// Each graph has memory of its own: pools are not shared.
class CUDAGraph : public tandem::cuda::CUDAGraph {
 public:
  CUDAGraph() = default;
  explicit CUDAGraph(bool /*keep_graph*/) {}
  /// The mode is always that of the thread.
  template <class Mode = int>
  void capture_begin(MempoolId_t /*pool*/ = {}, Mode /*cudaStreamCaptureMode*/ = {}) {
    tandem::cuda::CUDAGraph::capture_begin();
  }
  MempoolId_t pool() const { return {}; }
};

}  // namespace torch::cuda

template <>
struct std::hash<torch::cuda::CUDAStream> {
  std::size_t operator()(const torch::cuda::CUDAStream& stream) const { return std::hash<int64_t>()(stream.id()); }
};

namespace at::detail {
struct CUDAHooks {
  bool hasCUDA() const { return tandem::cuda::is_available(); }
  int getNumGPUs() const { return static_cast<int>(tandem::cuda::device_count()); }
  tandem::DeviceIndex deviceCount() const { return static_cast<tandem::DeviceIndex>(getNumGPUs()); }
};
inline const CUDAHooks& getCUDAHooks() {
  static const CUDAHooks hooks;
  return hooks;
}
}  // namespace at::detail

// For programs that call CUDA themselves and include its headers.
#define C10_CUDA_CHECK(...)                                                                      \
  do {                                                                                           \
    const auto tandem_status = (__VA_ARGS__);                                                    \
    if (tandem_status != 0) ::tandem::fail("CUDA error: ", ::cudaGetErrorString(tandem_status)); \
  } while (false)
#define AT_CUDA_CHECK(...) C10_CUDA_CHECK(__VA_ARGS__)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
