// The streams of each card under one lock, which the start of a capture takes exclusively and waits share.
#include "tandem/cuda/streams.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "tandem/cuda/cards.h"

namespace tandem::cuda_impl {
namespace {

struct CardStreams {
  std::shared_mutex mutex;
  std::vector<cudaStream_t> all;
  std::map<int, std::vector<cudaStream_t>> spare;  // by device
  int captures = 0;
};
CardStreams& streams_of(int device) {
  static auto* cards = new std::map<int, CardStreams>;  // never destroyed
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  return (*cards)[card_of(device).index];
}

}  // namespace

cudaStream_t take_stream(int device) {
  CardStreams& card = streams_of(device);
  std::unique_lock lock(card.mutex);
  auto& spare = card.spare[device];
  if (!spare.empty()) {
    const cudaStream_t stream = spare.back();
    spare.pop_back();
    return stream;
  }
  use_card(device);
  cudaStream_t stream = nullptr;
  ensure(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  card.all.push_back(stream);
  return stream;
}
void give_stream(int device, cudaStream_t stream) noexcept {
  CardStreams& card = streams_of(device);
  std::unique_lock lock(card.mutex);
  card.spare[device].push_back(stream);
}

cudaError_t begin_capture(int device, cudaStream_t stream) {
  CardStreams& card = streams_of(device);
  std::unique_lock lock(card.mutex);
  const cudaError_t status = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (status == cudaSuccess) ++card.captures;
  return status;
}
cudaError_t end_capture(int device, cudaStream_t stream, cudaGraph_t* graph) {
  CardStreams& card = streams_of(device);
  std::unique_lock lock(card.mutex);
  --card.captures;
  return cudaStreamEndCapture(stream, graph);
}
bool capturing_on(int device) {
  CardStreams& card = streams_of(device);
  std::shared_lock lock(card.mutex);
  return card.captures > 0;
}
bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

cudaError_t wait_for_card(int device) {
  CardStreams& card = streams_of(device);
  std::shared_lock lock(card.mutex);
  use_card(device);
  if (card.captures == 0) return cudaDeviceSynchronize();
  const RelaxedCapture relaxed;
  for (const cudaStream_t stream : card.all)
    if (!is_captured(stream))
      if (const cudaError_t status = cudaStreamSynchronize(stream); status != cudaSuccess) return status;
  return cudaSuccess;
}
cudaError_t wait_for_stream(int device, cudaStream_t stream) {
  CardStreams& card = streams_of(device);
  std::shared_lock lock(card.mutex);
  const RelaxedCapture relaxed;
  return is_captured(stream) ? cudaSuccess : cudaStreamSynchronize(stream);
}

}  // namespace tandem::cuda_impl
