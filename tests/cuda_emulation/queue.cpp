// Queues of work: appending, and running at the last possible moment. The lock is released only around host
// functions. A stream running its first entry is busy, and other host threads wait for it.
#include <chrono>
#include <condition_variable>

#include "tandem/tests/cuda_emulation/kernel.h"
#include "tandem/tests/cuda_emulation/state.h"

namespace tandem::cuda_emulation {
namespace {

constexpr std::size_t kLongest = 1024;  // a real queue is finite too

std::condition_variable_any& progress() {
  static auto* one = new std::condition_variable_any;
  return *one;
}

double milliseconds() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

// Exists while the calling host thread runs work; the outermost one revokes memory access at its end.
class Running {
 public:
  Running() { ++depth(); }
  ~Running() {
    if (--depth() == 0) open_memory(-1, -1);
  }

 private:
  static int& depth() {
    thread_local int value = 0;
    return value;
  }
};

void run_host_function(const Entry& entry) {
  open_memory(-1, -1);
  host_thread().in_host_function = true;
  state().mutex.unlock();
  entry.run();
  state().mutex.lock();
  host_thread().in_host_function = false;
}

void wait_progress() { progress().wait(state().mutex); }

std::shared_ptr<Recording> record(CUstream_st* stream) {
  auto recording = std::make_shared<Recording>(Recording{stream});
  if (stream->queue.empty() && !stream->busy) {
    recording->done = true;
    recording->milliseconds = milliseconds();
  } else {
    stream->queue.push_back({Work::kRecord, stream->gpu, "record", nullptr, recording});
  }
  return recording;
}

// The legacy stream waits for all blocking streams of its GPU, and they wait for it.
void order_with_legacy(CUstream_st* stream) {
  if (stream->flags & cudaStreamNonBlocking) return;
  for (const auto& other : state().streams) {
    const bool concerned = stream->legacy ? !(other->flags & cudaStreamNonBlocking) : other->legacy;
    if (!concerned || other.get() == stream || other->gpu != stream->gpu) continue;
    if (other->queue.empty() && !other->busy) continue;
    stream->queue.push_back({Work::kWait, stream->gpu, "legacy stream", nullptr, record(other.get())});
  }
}

void run_front(CUstream_st* stream) {
  Entry entry = std::move(stream->queue.front());
  stream->queue.pop_front();
  stream->busy = true;
  run_entry(entry);
  stream->busy = false;
  progress().notify_all();
}

}  // namespace

void run_entry(const Entry& entry) {
  if (entry.work == Work::kRecord) {
    entry.recording->done = true;
    entry.recording->milliseconds = milliseconds();
    return;
  }
  if (entry.work == Work::kWait) return drain_until(entry.recording);
  if (state().sticky != cudaSuccess) return;  // nothing runs after a fault
  if (entry.work == Work::kHost) return run_host_function(entry);
  if (entry.work == Work::kKernel) {
    open_for_kernel(entry.gpu);
    state().sticky = take_fault("execution");
    if (state().sticky != cudaSuccess) return;
  }
  entry.run();
}

void drain(CUstream_st* stream) {
  Running running;
  while (stream->busy || !stream->queue.empty())
    if (stream->busy)
      wait_progress();
    else
      run_front(stream);
}
void drain_until(const std::shared_ptr<Recording>& recording) {
  Running running;
  while (!recording->done)
    if (recording->stream->busy)
      wait_progress();
    else
      run_front(recording->stream);
}
void advance(CUstream_st* stream) {
  if (stream->busy || stream->queue.empty()) return;
  const Entry& front = stream->queue.front();
  if (front.work == Work::kWait && !front.recording->done) return advance(front.recording->stream);
  Running running;
  run_front(stream);
}
// Runs the newest streams first.
void drain_gpu(int gpu) {
  auto& streams = state().streams;
  for (std::size_t i = streams.size(); i-- > 0;)
    if (i < streams.size() && streams[i]->gpu == gpu) drain(streams[i].get());
  std::erase_if(streams, [](const auto& s) { return s->destroyed && s->queue.empty() && !s->busy; });
}

CUstream_st* find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy)
    return state().gpus.empty() ? nullptr : state().gpus[static_cast<std::size_t>(host_thread().gpu)].legacy;
  for (const auto& stream : state().streams)
    if (stream.get() == handle) return stream->destroyed ? nullptr : handle;
  return nullptr;
}

cudaError_t enqueue(cudaStream_t handle, Work work, const char* operation, std::function<void()> run) {
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (work == Work::kKernel && stream->gpu != host_thread().gpu) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t status = legacy_in_capture(stream); status != cudaSuccess) return status;
  Entry entry{work, stream->gpu, operation, std::move(run), nullptr};
  if (capturing(stream)) return capture_entry(stream, std::move(entry));
  order_with_legacy(stream);
  stream->queue.push_back(std::move(entry));
  if (state().eager || stream->queue.size() > kLongest) drain(stream);
  return cudaSuccess;
}

std::shared_ptr<Recording> enqueue_record(CUstream_st* stream) {
  order_with_legacy(stream);
  auto recording = record(stream);
  if (state().eager) drain(stream);
  return recording;
}
void enqueue_wait(CUstream_st* stream, const std::shared_ptr<Recording>& recording) {
  if (recording == nullptr || recording->done) return;
  order_with_legacy(stream);
  stream->queue.push_back({Work::kWait, stream->gpu, "wait", nullptr, recording});
  if (state().eager) drain(stream);
}

// Threads alternate between two orders, so no kernel can rely on one.
cudaError_t launch(const char* operation, cudaStream_t stream, dim3 grid, dim3 block, std::size_t shared_bytes,
                   std::function<void()> thread, const void* kernel) {
  return call("launch", [&]() -> cudaError_t {
    const uint64_t threads = uint64_t{block.x} * block.y * block.z, kGridX = 0x7fffffff, kGridYZ = 65535;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0) return cudaErrorInvalidConfiguration;
    if (grid.x > kGridX || grid.y > kGridYZ || grid.z > kGridYZ) return cudaErrorInvalidConfiguration;
    if (block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024) return cudaErrorInvalidConfiguration;
    std::size_t limit = std::size_t{48} << 10;
    for (const auto& [function, bytes] : state().shared_limits)
      if (kernel == nullptr || kernel == function) limit = std::max(limit, bytes);
    if (shared_bytes > limit) return cudaErrorInvalidValue;
    const int order = state().order;
    const bool descending = order != 0 ? order < 0 : state().counters.launches % 2 != 0;
    const Launch configuration{operation, grid, block, shared_bytes, descending};
    const cudaError_t status = enqueue(stream, Work::kKernel, operation, [configuration, thread = std::move(thread)] {
      run_kernel(configuration, thread);
    });
    if (status == cudaSuccess) ++state().counters.launches;
    return status;
  });
}

}  // namespace tandem::cuda_emulation
