// Streams of the cards, and captures against waits.
//
// No stream is ever destroyed: memory, workspaces and profiles name one by its handle, and the driver gives
// the handle of a destroyed stream, whose work may still be running, to the next one. CUDA ends every capture
// of a card that is waited for as a whole, so while there is one, a wait for the card goes to its streams one
// by one.
#pragma once
#include <cuda_runtime_api.h>

#include "tandem/cuda/check.h"

namespace tandem::cuda_impl {

/// One that was given back, else a new one, which does not wait for the legacy stream.
cudaStream_t take_stream(int device);
void give_stream(int device, cudaStream_t stream) noexcept;

cudaError_t begin_capture(int device, cudaStream_t stream);
cudaError_t end_capture(int device, cudaStream_t stream, cudaGraph_t* graph);
/// Whether something is being captured on the device's card: its memory is not to be given back then.
bool capturing_on(int device);
/// Whether work given to this stream now goes to a capture.
bool is_captured(cudaStream_t stream);
/// Waits for all streams of the device's card but those that are being captured.
cudaError_t wait_for_card(int device);
/// Waits for the stream, unless it is being captured.
cudaError_t wait_for_stream(int device, cudaStream_t stream);

/// While it lives, this thread may allocate, free and ask events though something is being captured.
class RelaxedCapture {
 public:
  RelaxedCapture() { exchange(); }
  ~RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange() {
    log_failure(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode");
  }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace tandem::cuda_impl
