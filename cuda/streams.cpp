// The streams of each GPU under one lock, which the start of a capture takes exclusively and waits share.
#include "tandem/cuda/streams.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "tandem/cuda/gpus.h"

namespace tandem::cuda_impl {
namespace {

struct GpuStreams {
  std::shared_mutex mutex;
  std::vector<cudaStream_t> all;
  std::map<int, std::vector<cudaStream_t>> spare;  // by device
  int captures = 0;
};
GpuStreams& streams_of(int device) {
  static auto* gpus = new std::map<int, GpuStreams>;  // never destroyed
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  return (*gpus)[gpu_of(device).index];
}

}  // namespace

cudaStream_t take_stream(int device) {
  GpuStreams& gpu = streams_of(device);
  std::unique_lock lock(gpu.mutex);
  auto& spare = gpu.spare[device];
  if (!spare.empty()) {
    const cudaStream_t stream = spare.back();
    spare.pop_back();
    return stream;
  }
  use_gpu(device);
  cudaStream_t stream = nullptr;
  ensure(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  gpu.all.push_back(stream);
  return stream;
}
void give_stream(int device, cudaStream_t stream) noexcept {
  GpuStreams& gpu = streams_of(device);
  std::unique_lock lock(gpu.mutex);
  gpu.spare[device].push_back(stream);
}

cudaError_t begin_capture(int device, cudaStream_t stream) {
  GpuStreams& gpu = streams_of(device);
  std::unique_lock lock(gpu.mutex);
  const cudaError_t status = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (status == cudaSuccess) ++gpu.captures;
  return status;
}
cudaError_t end_capture(int device, cudaStream_t stream, cudaGraph_t* graph) {
  GpuStreams& gpu = streams_of(device);
  std::unique_lock lock(gpu.mutex);
  --gpu.captures;
  return cudaStreamEndCapture(stream, graph);
}
bool capturing_on(int device) {
  GpuStreams& gpu = streams_of(device);
  std::shared_lock lock(gpu.mutex);
  return gpu.captures > 0;
}
bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

cudaError_t wait_for_gpu(int device) {
  GpuStreams& gpu = streams_of(device);
  std::shared_lock lock(gpu.mutex);
  use_gpu(device);
  if (gpu.captures == 0) return cudaDeviceSynchronize();
  const RelaxedCapture relaxed;
  for (const cudaStream_t stream : gpu.all)
    if (!is_captured(stream))
      if (const cudaError_t status = cudaStreamSynchronize(stream); status != cudaSuccess) return status;
  return cudaSuccess;
}
cudaError_t wait_for_stream(int device, cudaStream_t stream) {
  GpuStreams& gpu = streams_of(device);
  std::shared_lock lock(gpu.mutex);
  const RelaxedCapture relaxed;
  return is_captured(stream) ? cudaSuccess : cudaStreamSynchronize(stream);
}

}  // namespace tandem::cuda_impl
