// Every copy is asynchronous for the driver. The host waits if its own memory is involved, unless that is
// pinned and the caller passed non_blocking.
#include "tandem/cuda/copies.h"

#include <mutex>
#include <set>

#include "tandem/core/backend/constant_copy.h"
#include "tandem/cuda/capture.h"
#include "tandem/cuda/context.h"
#include "tandem/cuda/gpu_memory.h"

namespace tandem::cuda_impl {
namespace {

constexpr std::size_t kMaxConstant = std::size_t{1} << 20;  // of a captured step: some 260 kernels

// Whether the driver has consumed the bytes when the call returns. True for pageable memory, unless the GPU
// reads that directly; memory pinned by others is read later.
bool is_staged(int gpu, const void* host) {
  static const bool by_itself = [gpu] {
    int yes = 0;
    ensure(cudaDeviceGetAttribute(&yes, cudaDevAttrPageableMemoryAccess, gpu), "cudaDeviceGetAttribute");
    return yes != 0;
  }();
  if (by_itself) return false;
  cudaPointerAttributes attributes{};
  ensure(cudaPointerGetAttributes(&attributes, host), "cudaPointerGetAttributes");
  return attributes.type == cudaMemoryTypeUnregistered;
}

void host_copy(Context& c, void* to, const void* from, const void* host, std::size_t bytes, cudaMemcpyKind kind,
               bool non_blocking) {
  const bool to_gpu = kind == cudaMemcpyHostToDevice;
  if (to_gpu && c.recording != nullptr && tandem::detail::copies_constants && bytes <= kMaxConstant)
    return write_constant(c, to, from, bytes);
  refuse_in_capture(c, to_gpu ? "copies from the host to the device" : "reads a value on the host");
  ensure(cudaMemcpyAsync(to, from, bytes, kind, c.stream()), "cudaMemcpyAsync");
  note_launch(to_gpu ? "copy to the device" : "copy to the host");
  const bool pinned = (non_blocking || to_gpu) && pinned_used_by(host, c.stream());
  if (pinned ? non_blocking : to_gpu && is_staged(c.gpu().index, host)) return;
  ensure(cudaStreamSynchronize(c.stream()), "cudaStreamSynchronize");
  check_fault(c.state());
}

// Makes `behind` wait for the work now queued on `other`.
void follow(Context& behind, Context& other) {
  if (behind.stream() == other.stream()) return;
  use_gpu(other.state().index);
  MemorySource& source = *other.state().source;
  const EventId event = source.mark(other.stream());
  use_gpu(behind.state().index);
  ensure(cudaStreamWaitEvent(behind.stream(), static_cast<cudaEvent_t>(event), 0), "cudaStreamWaitEvent");
  source.drop(event);  // the wait keeps the recorded state
}

// Enables direct access both ways, once per pair of GPUs. Without it the driver stages through the host.
void enable_peers(int a, int b) {
  static std::mutex mutex;
  static auto& done = *new std::set<std::pair<int, int>>;  // never destroyed
  std::lock_guard lock(mutex);
  if (!done.emplace(std::min(a, b), std::max(a, b)).second) return;
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    int can = 0;
    ensure(cudaDeviceCanAccessPeer(&can, from, to), "cudaDeviceCanAccessPeer");
    if (can == 0) continue;
    ensure(cudaSetDevice(from), "cudaSetDevice");
    const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
    // Too many peers: the driver stages through the host.
    if (status == cudaErrorPeerAccessAlreadyEnabled || status == cudaErrorTooManyPeers)
      forget_error();
    else
      ensure(status, "cudaDeviceEnablePeerAccess");
  }
}

void device_copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes) {
  Context& source = context(from_device);
  Context& target = context(to_device);
  const int a = source.gpu().index, b = target.gpu().index;
  if (a != b) enable_peers(a, b);
  follow(target, source);
  use_gpu(target.state().index);
  ensure(a == b ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, target.stream())
                : cudaMemcpyPeerAsync(to, b, from, a, bytes, target.stream()),
         a == b ? "cudaMemcpyAsync" : "cudaMemcpyPeerAsync");
  note_launch("copy between devices");
  follow(source, target);  // the source may be freed and reused in its stream's order
}

}  // namespace

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes,
                bool non_blocking) {
  if (bytes == 0) return;
  if (to_device.is_cuda() && from_device.is_cuda()) return device_copy(to, to_device, from, from_device, bytes);
  if (to_device.is_cuda())
    return host_copy(context(to_device), to, from, from, bytes, cudaMemcpyHostToDevice, non_blocking);
  host_copy(context(from_device), to, from, to, bytes, cudaMemcpyDeviceToHost, non_blocking);
}

}  // namespace tandem::cuda_impl
