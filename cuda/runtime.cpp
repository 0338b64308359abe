// Memory, copies, streams and events of CUDA devices.
#include <algorithm>

#include "tandem/core/backend/runtime.h"
#include "tandem/core/global_context.h"
#include "tandem/cuda/capture.h"
#include "tandem/cuda/context.h"
#include "tandem/cuda/copies.h"
#include "tandem/cuda/gpu_memory.h"
#include "tandem/cuda/streams.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

cudaStream_t stream_of(StreamHandle stream) { return static_cast<cudaStream_t>(stream.handle); }
StreamHandle handle_of(Device device, cudaStream_t stream) { return {device, stream}; }

DeviceInfo device_info(int index) {
  const Gpu& gpu = gpu_of(index);
  const int share = sharers(index);
  const auto room = device_state(index).source->room();
  return {gpu.name, static_cast<int64_t>(gpu.memory), static_cast<int64_t>(room.free), gpu.multiprocessors,
          concat("compute capability ", gpu.major, ".", gpu.minor,
                 share > 1 ? concat(", one of ", share, " on GPU ", gpu.index) : concat(", GPU ", gpu.index))};
}

std::string version(int number, int major_factor, int minor_factor) {
  return concat(number / major_factor, ".", number % major_factor / minor_factor);
}

std::vector<std::string> computes_with() {
  int driver = 0, runtime = 0, blas = 0;
  ensure(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  ensure(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  ensure(cublasGetVersion(context(0).blas(), &blas), "cublasGetVersion");
  const int dnn = static_cast<int>(cudnnGetVersion());
  return {concat("driver for CUDA ", version(driver, 1000, 10)), concat("CUDA ", version(runtime, 1000, 10)),
          concat("cuBLAS ", version(blas, 10000, 100)), concat("cuDNN ", version(dnn, 10000, 100), ".", dnn % 100)};
}

MemoryUse memory_use(Device device) { return device_state(device.index()).allocator->use(); }

StreamHandle create_stream(Device device) {
  context(device);
  return handle_of(device, take_stream(device.index()));
}
// What waits belongs to the stream until now. Guards call this as they end, so it throws nothing.
void change_stream(Context& c, cudaStream_t stream) noexcept {
  try {
    c.run_queue();
  } catch (const std::exception&) {  // the recording is refused
  }
  c.set_stream(stream);
}
void destroy_stream(StreamHandle stream) {
  if (is_forked_child()) return;
  Context& c = context(stream.device);
  if (c.stream_id() == stream.handle) change_stream(c, nullptr);
  give_stream(stream.device.index(), stream_of(stream));
}

// Created when it is first recorded, because an event belongs to a GPU.
struct Event {
  cudaEvent_t event = nullptr;
  int device = -1;
};
Event& event_of(void* event) { return *static_cast<Event*>(event); }

void destroy_event(void* event) {
  if (event_of(event).event != nullptr && !is_forked_child())
    log_failure(cudaEventDestroy(event_of(event).event), "cudaEventDestroy");
  delete &event_of(event);
}
void record_event(void* handle, StreamHandle stream) {
  Context& c = context(stream.device);
  c.run_queue();
  Event& event = event_of(handle);
  if (event.device >= 0 && gpu_of(event.device).index != c.gpu().index) {
    log_failure(cudaEventDestroy(event.event), "cudaEventDestroy");
    event.event = nullptr;
  }
  if (event.event == nullptr) ensure(cudaEventCreate(&event.event), "cudaEventCreate");
  event.device = stream.device.index();
  ensure(cudaEventRecord(event.event, stream_of(stream)), "cudaEventRecord");
}
void wait_event(void* handle, StreamHandle stream) {
  const Event& event = event_of(handle);
  if (event.event == nullptr) return;  // never recorded: nothing to wait for
  context(stream.device).run_queue();
  ensure(cudaStreamWaitEvent(stream_of(stream), event.event, 0), "cudaStreamWaitEvent");
}
void synchronize_event(void* handle) {
  const Event& event = event_of(handle);
  if (event.event == nullptr) return;
  refuse_in_forked_child();
  ensure(cudaEventSynchronize(event.event), "cudaEventSynchronize");
  check_fault(device_state(event.device));
}
double elapsed_ms(void* from, void* to) {
  check(event_of(from).event != nullptr && event_of(to).event != nullptr, "elapsed_ms: an event has not been recorded");
  refuse_in_forked_child();
  float ms = 0;
  ensure(cudaEventElapsedTime(&ms, event_of(from).event, event_of(to).event), "cudaEventElapsedTime");
  return static_cast<double>(ms);
}

// cudaErrorNotReady is an answer, not a failure.
bool is_done(cudaError_t status, const char* call) {
  if (status != cudaErrorNotReady) ensure(status, call);
  return status == cudaSuccess;
}
bool event_is_done(void* handle) {
  const cudaEvent_t event = event_of(handle).event;
  refuse_in_forked_child();
  return event == nullptr || is_done(cudaEventQuery(event), "cudaEventQuery");
}
bool stream_is_done(StreamHandle stream) {
  Context& c = context(stream.device);
  refuse_in_capture(c, "asks whether a stream has completed");
  return is_done(cudaStreamQuery(stream_of(stream)), "cudaStreamQuery");
}

void synchronize(Device device) {
  Context& c = context(device);
  refuse_in_capture(c, "waits for the device");
  ensure(wait_for_gpu(device.index()), "cudaDeviceSynchronize");
  check_fault(c.state());
}
void synchronize_stream(StreamHandle stream) {
  Context& c = context(stream.device);
  refuse_in_capture(c, "waits for a stream");
  ensure(cudaStreamSynchronize(stream_of(stream)), "cudaStreamSynchronize");
  check_fault(c.state());
}

}  // namespace

constinit const RuntimeKernels runtime_kernels{
    .device_count = device_count,
    .device_info = device_info,
    .computes_with = computes_with,
    .current_device = current_device,
    .set_current_device = set_current_device,
    .allocate =
        +[](Device device, std::size_t bytes) {
          Context& c = context(device);
          if (c.recording != nullptr && c.recording->phase == Recording::Phase::kNumbers) [[unlikely]]
            c.recording->refuse("allocates in an optimizer's step");
          CachingAllocator& allocator = *c.state().allocator;
          if (c.fusion == nullptr) return allocator.allocate(bytes, c.stream_id(), c.pool);
          try {
            return allocator.allocate(bytes, c.stream_id(), c.pool);
          } catch (const OutOfMemoryError&) {
            c.run_queue();  // which may hold freed memory
            return allocator.allocate(bytes, c.stream_id(), c.pool);
          }
        },
    .free =
        +[](Device device, void* data, std::size_t) {
          if (!is_forked_child()) device_state(device.index()).allocator->free(data);
        },
    .record_stream = +[](Device device, void* data,
                         StreamHandle stream) { device_state(device.index()).allocator->used_by(data, stream.handle); },
    .memory_use = memory_use,
    .reset_memory_peaks = +[](Device device) { device_state(device.index()).allocator->reset_peaks(); },
    .empty_cache = +[](Device device) { device_state(device.index()).allocator->empty_cache(); },
    .allocate_pinned = allocate_pinned,
    .free_pinned = free_pinned,
    .copy_bytes = copy_bytes,
    .create_stream = create_stream,
    .destroy_stream = destroy_stream,
    .current_stream = +[](Device device) { return handle_of(device, context(device).stream()); },
    .set_current_stream =
        +[](StreamHandle stream) {  // guards restore the stream, in a forked child too
          if (!is_forked_child()) change_stream(context(stream.device), stream_of(stream));
        },
    .stream_is_done = stream_is_done,
    .synchronize_stream = synchronize_stream,
    .synchronize = synchronize,
    .create_event = +[]() -> void* { return new Event; },
    .destroy_event = destroy_event,
    .record_event = record_event,
    .wait_event = wait_event,
    .synchronize_event = synchronize_event,
    .event_is_done = event_is_done,
    .elapsed_ms = elapsed_ms,
};

}  // namespace tandem::cuda_impl
