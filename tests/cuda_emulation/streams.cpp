// The stream and event API.
#include <algorithm>

#include "tandem/tests/cuda_emulation/state.h"

namespace tandem::cuda_emulation {

CUevent_st* find_event(cudaEvent_t handle) {
  const auto& all = state().events;
  return std::find(all.begin(), all.end(), handle) != all.end() ? handle : nullptr;
}

namespace {

cudaError_t create(cudaStream_t* out, unsigned flags, int priority) {
  if (out == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0) return cudaErrorInvalidValue;
  State& s = state();
  s.streams.push_back(std::make_unique<CUstream_st>(
      CUstream_st{.gpu = host_thread().gpu, .flags = flags, .id = s.next_id++, .priority = priority}));
  *out = s.streams.back().get();
  ++s.counters.streams_created;
  return cudaSuccess;
}

cudaError_t create(cudaEvent_t* out, unsigned flags) {
  if (out == nullptr || flags > 7) return cudaErrorInvalidValue;
  *out = new CUevent_st{.gpu = host_thread().gpu, .flags = flags};
  state().events.push_back(*out);
  ++state().counters.events_created;
  return cudaSuccess;
}

// The error if synchronising or querying the stream is forbidden now.
cudaError_t check_wait(CUstream_st* stream) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (capturing(stream)) return invalidate(stream, cudaErrorStreamCaptureUnsupported);
  if (const cudaError_t status = legacy_in_capture(stream); status != cudaSuccess) return status;
  return unsafe_in_capture();
}
cudaError_t check_wait(const CUevent_st* event) {
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  if (event->capture != nullptr) return cudaErrorCapturedEvent;
  return unsafe_in_capture();
}

cudaError_t record(cudaEvent_t handle, cudaStream_t stream_handle) {
  CUevent_st* event = find_event(handle);
  CUstream_st* stream = find_stream(stream_handle);
  if (event == nullptr || stream == nullptr || event->gpu != stream->gpu) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t status = legacy_in_capture(stream); status != cudaSuccess) return status;
  event->recording.reset();
  event->capture = stream->capture;
  event->ends = stream->ends;
  if (!capturing(stream)) event->recording = enqueue_record(stream);
  return capturing(stream) && stream->capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

// Invalidates captures on the GPU, in any mode and from any thread.
cudaError_t synchronize_device() {
  bool captured = false;
  for (const auto& capture : state().captures)
    for (const CUstream_st* stream : capture->streams)
      if (stream->gpu == host_thread().gpu) captured = capture->invalid = true;
  if (captured) return cudaErrorStreamCaptureUnsupported;
  if (const cudaError_t status = unsafe_in_capture(); status != cudaSuccess) return status;
  ++state().counters.syncs;
  drain_gpu(host_thread().gpu);
  return state().sticky;
}

}  // namespace
}  // namespace tandem::cuda_emulation

using namespace tandem::cuda_emulation;
extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* out) {
  return call("cudaStreamCreate", [&] { return create(out, 0, 0); });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  return call("cudaStreamCreateWithFlags", [&] { return create(out, flags, 0); });
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned flags, int priority) {
  return call("cudaStreamCreateWithPriority", [&] { return create(out, flags, priority); });
}
// Enqueued work still runs eventually.
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return call("cudaStreamDestroy", [&] {
    CUstream_st* stream = find_stream(handle);
    if (stream == nullptr || stream->legacy) return cudaErrorInvalidResourceHandle;
    if (capturing(stream)) return invalidate(stream, cudaErrorStreamCaptureUnsupported);
    stream->destroyed = true;
    std::erase_if(state().streams, [](const auto& s) { return s->destroyed && s->queue.empty() && !s->busy; });
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return call("cudaStreamSynchronize", [&] {
    CUstream_st* stream = find_stream(handle);
    if (const cudaError_t status = check_wait(stream); status != cudaSuccess) return status;
    ++state().counters.syncs;
    if (stream->legacy) enqueue_record(stream);
    drain(stream);
    return state().sticky;
  });
}
// Every query advances the stream by one entry, so polling terminates.
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return call("cudaStreamQuery", [&] {
    CUstream_st* stream = find_stream(handle);
    if (const cudaError_t status = check_wait(stream); status != cudaSuccess) return status;
    if (stream->queue.empty() && !stream->busy) return state().sticky;
    advance(stream);
    return cudaErrorNotReady;
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned) {
  return call("cudaStreamWaitEvent", [&] {
    CUstream_st* stream = find_stream(handle);
    CUevent_st* event = find_event(event_handle);
    if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
    if (event->capture != nullptr) return capture_wait(stream, event);
    if (event->recording == nullptr) return cudaSuccess;
    if (capturing(stream)) return invalidate(stream, cudaErrorStreamCaptureIsolation);
    enqueue_wait(stream, event->recording);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* gpu) {
  return call("cudaStreamGetDevice", [&] {
    const CUstream_st* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    *gpu = stream->gpu;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return call("cudaStreamGetId", [&] {
    const CUstream_st* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    *id = stream->id;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return call("cudaStreamGetFlags", [&] {
    const CUstream_st* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    *flags = stream->flags;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call("cudaDeviceGetStreamPriorityRange", [&] {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSynchronize() { return call("cudaDeviceSynchronize", synchronize_device); }
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return call("cudaLaunchHostFunc", [&] {
    if (function == nullptr) return cudaErrorInvalidValue;
    ++state().counters.host_functions;
    return enqueue(stream, Work::kHost, "host function", [function, data] { function(data); });
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* out) {
  return call("cudaEventCreate", [&] { return create(out, 0); });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  return call("cudaEventCreateWithFlags", [&] { return create(out, flags); });
}
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return call("cudaEventDestroy", [&] {
    CUevent_st* event = find_event(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    std::erase(state().events, event);
    delete event;
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call("cudaEventRecord", [&] { return record(event, stream); });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return call("cudaEventRecordWithFlags", [&] { return record(event, stream); });
}
cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return call("cudaEventQuery", [&] {
    const CUevent_st* event = find_event(handle);
    if (const cudaError_t status = check_wait(event); status != cudaSuccess) return status;
    if (event->recording == nullptr || event->recording->done) return state().sticky;
    advance(event->recording->stream);
    return cudaErrorNotReady;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return call("cudaEventSynchronize", [&] {
    const CUevent_st* event = find_event(handle);
    if (const cudaError_t status = check_wait(event); status != cudaSuccess) return status;
    ++state().counters.syncs;
    const std::shared_ptr<Recording> recording = event->recording;
    if (recording != nullptr) drain_until(recording);
    return state().sticky;
  });
}
cudaError_t cudaEventElapsedTime(float* out, cudaEvent_t start_handle, cudaEvent_t end_handle) {
  return call("cudaEventElapsedTime", [&] {
    const CUevent_st *start = find_event(start_handle), *end = find_event(end_handle);
    if (out == nullptr) return cudaErrorInvalidValue;
    if (start == nullptr || end == nullptr || ((start->flags | end->flags) & cudaEventDisableTiming) != 0)
      return cudaErrorInvalidResourceHandle;
    if (start->recording == nullptr || end->recording == nullptr) return cudaErrorInvalidResourceHandle;
    if (!start->recording->done || !end->recording->done) return cudaErrorNotReady;
    *out = static_cast<float>(end->recording->milliseconds - start->recording->milliseconds);
    return cudaSuccess;
  });
}

}  // extern "C"
