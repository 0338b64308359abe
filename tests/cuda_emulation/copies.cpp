// Copies and fills. Pinned buffers are accessed when the copy runs, pageable ones within the call.
#include <cstring>

#include "tandem/tests/cuda_emulation/state.h"

namespace tandem::cuda_emulation {
namespace {

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
};

bool on_device(Where at) { return at.side == Side::kDevice; }
bool on_host(Where at) { return at.side == Side::kPinned || at.side == Side::kPageable; }

// Whether each end is one whole range on the side that `kind` says.
bool fits(cudaMemcpyKind kind, Where to, Where from) {
  if (to.side == Side::kWrong || from.side == Side::kWrong) return false;
  switch (kind) {
    case cudaMemcpyHostToHost:
      return on_host(to) && on_host(from);
    case cudaMemcpyHostToDevice:
      return on_device(to) && on_host(from);
    case cudaMemcpyDeviceToHost:
      return on_host(to) && on_device(from);
    case cudaMemcpyDeviceToDevice:
      return on_device(to) && on_device(from);
    case cudaMemcpyDefault:
      return true;
    default:
      return false;
  }
}

std::function<void()> work(const Copy& copy, Where to, Where from) {
  const int a = on_device(to) ? to.gpu : -1, b = on_device(from) ? from.gpu : -1;
  return [copy, a, b] {
    open_memory(a, b);
    std::memmove(copy.to, copy.from, copy.bytes);
  };
}

// Reads host memory now, because it may be freed or changed after the call.
std::function<void()> staged_work(const Copy& copy, Where to) {
  std::string staged(static_cast<const char*>(copy.from), copy.bytes);
  return [to_memory = copy.to, staged = std::move(staged), gpu = to.gpu] {
    open_memory(gpu, gpu);
    std::memcpy(to_memory, staged.data(), staged.size());
  };
}

cudaError_t enqueue_copy(const Copy& copy, cudaMemcpyKind kind, cudaStream_t handle, bool blocking) {
  if (copy.bytes == 0) return cudaSuccess;
  if (copy.to == nullptr || copy.from == nullptr) return cudaErrorInvalidValue;
  const Where to = where(copy.to, copy.bytes), from = where(copy.from, copy.bytes);
  if (!fits(kind, to, from)) return cudaErrorInvalidValue;
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const bool pageable = to.side == Side::kPageable || from.side == Side::kPageable;
  const bool waits = blocking ? !(on_device(to) && on_device(from)) : pageable;
  if (capturing(stream) && pageable) return invalidate(stream, cudaErrorStreamCaptureUnsupported);
  if (blocking)
    if (const cudaError_t status = unsafe_in_capture(); status != cudaSuccess) return status;
  const bool stages = !blocking && on_device(to) && from.side == Side::kPageable;
  const cudaError_t status =
      enqueue(stream, Work::kCopy, "copy", stages ? staged_work(copy, to) : work(copy, to, from));
  if (status != cudaSuccess) return status;
  ++state().counters.copies;
  if (waits && !stages) drain(stream);
  return state().sticky;
}

cudaError_t enqueue_fill(void* p, int value, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  const Where at = where(p, bytes);
  if (at.side != Side::kDevice && at.side != Side::kPinned) return cudaErrorInvalidValue;
  ++state().counters.memsets;
  return enqueue(stream, Work::kMemset, "memset", [p, value, bytes, gpu = on_device(at) ? at.gpu : -1] {
    open_memory(gpu, gpu);
    std::memset(p, value, bytes);
  });
}

cudaError_t enqueue_peer_copy(const Copy& copy, int to, int from, cudaStream_t stream) {
  if (copy.bytes == 0) return cudaSuccess;
  const int gpus = static_cast<int>(state().gpus.size());
  if (to < 0 || to >= gpus || from < 0 || from >= gpus) return cudaErrorInvalidDevice;
  if (where(copy.to, copy.bytes).gpu != to || where(copy.from, copy.bytes).gpu != from) return cudaErrorInvalidValue;
  return enqueue_copy(copy, cudaMemcpyDeviceToDevice, stream, false);
}

struct Rectangle {
  std::size_t to_pitch, from_pitch, width, height;
};
cudaError_t enqueue_rows(void* to, const void* from, const Rectangle& r, cudaMemcpyKind kind, cudaStream_t stream) {
  if (r.width > r.to_pitch || r.width > r.from_pitch) return cudaErrorInvalidPitchValue;
  if (r.width == 0 || r.height == 0) return cudaSuccess;
  const Where a = where(to, r.to_pitch * (r.height - 1) + r.width);
  const Where b = where(from, r.from_pitch * (r.height - 1) + r.width);
  if (!fits(kind, a, b) || a.side == Side::kPageable || b.side == Side::kPageable) return cudaErrorInvalidValue;
  ++state().counters.copies;
  return enqueue(stream, Work::kCopy, "copy", [=] {
    open_memory(on_device(a) ? a.gpu : -1, on_device(b) ? b.gpu : -1);
    for (std::size_t i = 0; i < r.height; ++i)
      std::memmove(static_cast<char*>(to) + i * r.to_pitch, static_cast<const char*>(from) + i * r.from_pitch, r.width);
  });
}

}  // namespace
}  // namespace tandem::cuda_emulation

using namespace tandem::cuda_emulation;
extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return call("cudaMemcpy", [&] { return enqueue_copy({to, from, bytes}, kind, nullptr, true); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&] { return enqueue_copy({to, from, bytes}, kind, stream, false); });
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_gpu, const void* from, int from_gpu, size_t bytes,
                                cudaStream_t stream) {
  return call("cudaMemcpyPeerAsync", [&] { return enqueue_peer_copy({to, from, bytes}, to_gpu, from_gpu, stream); });
}
/// Supports pinned and device memory only.
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpy2DAsync", [&] {
    return enqueue_rows(to, from, {to_pitch, from_pitch, width, height}, kind, stream);
  });
}
cudaError_t cudaMemset(void* p, int value, size_t bytes) {
  return call("cudaMemset", [&] { return enqueue_fill(p, value, bytes, nullptr); });
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t stream) {
  return call("cudaMemsetAsync", [&] { return enqueue_fill(p, value, bytes, stream); });
}

}  // extern "C"
