// Device memory from cudaMalloc. Pinned memory from cudaHostAlloc behind the same caching allocator: the
// stream of a copy counts as a further user of a pinned block, so the block outlives the copy.
#include "tandem/cuda/gpu_memory.h"

#include <map>

#include "tandem/core/error.h"
#include "tandem/cuda/allocator.h"
#include "tandem/cuda/check.h"
#include "tandem/cuda/gpus.h"
#include "tandem/cuda/streams.h"

namespace tandem::cuda_impl {
namespace {

void* or_null(cudaError_t status, void* memory, const char* call) {
  if (status == cudaErrorMemoryAllocation) {
    forget_error();
    return nullptr;
  }
  ensure(status, call);
  return memory;
}

// Records `spare`, or a new event of the current GPU, on `stream`.
EventId recorded(StreamId stream, EventId spare = nullptr) {
  auto event = static_cast<cudaEvent_t>(spare);
  if (event == nullptr) ensure(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  ensure(cudaEventRecord(event, static_cast<cudaStream_t>(stream)), "cudaEventRecord");
  return event;
}
bool has_passed(EventId event) {
  RelaxedCapture relaxed;
  const cudaError_t status = cudaEventQuery(static_cast<cudaEvent_t>(event));
  if (status == cudaErrorNotReady) return false;
  ensure(status, "cudaEventQuery");
  return true;
}

}  // namespace

GpuMemory::~GpuMemory() {
  for (EventId event : spare_) log_failure(cudaEventDestroy(static_cast<cudaEvent_t>(event)), "cudaEventDestroy");
}

void* GpuMemory::allocate(std::size_t bytes) {
  use_gpu(device_);
  RelaxedCapture relaxed;
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  return or_null(status, memory, "cudaMalloc");
}
void GpuMemory::free(void* memory) noexcept try {
  use_gpu(device_);
  RelaxedCapture relaxed;
  log_failure(cudaFree(memory), "cudaFree");
} catch (const std::exception&) {  // the GPU is no longer usable, and its memory is gone with it
}
MemorySource::Room GpuMemory::room() {
  use_gpu(device_);
  Room room{};
  ensure(cudaMemGetInfo(&room.free, &room.total), "cudaMemGetInfo");
  return room;
}
bool GpuMemory::may_wait() { return !capturing_on(device_); }
void GpuMemory::synchronize() { ensure(wait_for_gpu(device_), "cudaDeviceSynchronize"); }
bool GpuMemory::records(StreamId stream) { return is_captured(static_cast<cudaStream_t>(stream)); }

EventId GpuMemory::mark(StreamId stream) {
  use_gpu(device_);
  EventId spare = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      spare = spare_.back();
      spare_.pop_back();
    }
  }
  return recorded(stream, spare);
}
bool GpuMemory::reached(EventId event) { return has_passed(event); }
void GpuMemory::drop(EventId event) noexcept {
  std::lock_guard lock(mutex_);
  spare_.push_back(event);
}

namespace {

class PinnedMemory final : public MemorySource {
 public:
  void* allocate(std::size_t bytes) override {
    RelaxedCapture relaxed;
    void* memory = nullptr;
    const cudaError_t status = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
    return or_null(status, memory, "cudaHostAlloc");
  }
  void free(void* memory) noexcept override {
    RelaxedCapture relaxed;
    log_failure(cudaFreeHost(memory), "cudaFreeHost");
  }
  Room room() override { return {0, 0}; }
  bool may_wait() override {
    for (int i = 0; i < device_count(); ++i)
      if (capturing_on(i)) return false;
    return true;
  }
  void synchronize() override {
    for (int i = 0; i < device_count(); ++i) {
      GpuGuard guard(i);
      ensure(wait_for_gpu(i), "cudaDeviceSynchronize");
    }
  }
  bool records(StreamId stream) override { return is_captured(static_cast<cudaStream_t>(stream)); }
  EventId mark(StreamId stream) override {
    int gpu = 0, previous = 0;  // an event belongs to the GPU of its stream
    ensure(cudaStreamGetDevice(static_cast<cudaStream_t>(stream), &gpu), "cudaStreamGetDevice");
    ensure(cudaGetDevice(&previous), "cudaGetDevice");
    if (gpu != previous) ensure(cudaSetDevice(gpu), "cudaSetDevice");
    const EventId event = recorded(stream);
    if (gpu != previous) ensure(cudaSetDevice(previous), "cudaSetDevice");
    return event;
  }
  bool reached(EventId event) override { return has_passed(event); }
  void drop(EventId event) noexcept override {
    log_failure(cudaEventDestroy(static_cast<cudaEvent_t>(event)), "cudaEventDestroy");
  }
};

// The start addresses of blocks, to look up a pointer into the middle of one.
struct Pinned {
  PinnedMemory source;
  CachingAllocator allocator{source, "pinned host memory"};
  std::mutex mutex;
  std::map<const char*, std::size_t> blocks;
};
Pinned& pinned() {
  static Pinned* instance = new Pinned;
  return *instance;
}

}  // namespace

void* allocate_pinned(std::size_t bytes) {
  refuse_in_forked_child();
  Pinned& p = pinned();
  void* data = p.allocator.allocate(bytes == 0 ? 1 : bytes, nullptr);
  std::lock_guard lock(p.mutex);
  p.blocks[static_cast<const char*>(data)] = bytes;
  return data;
}
void free_pinned(void* data) {
  if (is_forked_child()) return;
  Pinned& p = pinned();
  {
    std::lock_guard lock(p.mutex);
    p.blocks.erase(static_cast<const char*>(data));
  }
  p.allocator.free(data);
}
bool pinned_used_by(const void* data, StreamId stream) {
  Pinned& p = pinned();
  const char* start = nullptr;
  {
    std::lock_guard lock(p.mutex);
    auto at = p.blocks.upper_bound(static_cast<const char*>(data));
    if (at == p.blocks.begin()) return false;
    --at;
    if (static_cast<const char*>(data) >= at->first + std::max<std::size_t>(1, at->second)) return false;
    start = at->first;
  }
  p.allocator.used_by(const_cast<char*>(start), stream);
  return true;
}

}  // namespace tandem::cuda_impl
