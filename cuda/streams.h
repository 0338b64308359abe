// The streams of each GPU, and the coordination of captures with waits.
//
// Streams are never destroyed: memory, workspaces and profiles refer to them by handle, and the driver reuses
// the handle of a destroyed stream even while its work is still running. CUDA aborts every capture on a GPU
// that is synchronised as a whole, so while a capture is in progress, a wait for the GPU synchronises its
// streams one by one.
#pragma once
#include <cuda_runtime_api.h>

#include "tandem/cuda/check.h"

namespace tandem::cuda_impl {

/// A returned stream if there is one, otherwise a new one that does not synchronise with the legacy stream.
cudaStream_t take_stream(int device);
void give_stream(int device, cudaStream_t stream) noexcept;

cudaError_t begin_capture(int device, cudaStream_t stream);
cudaError_t end_capture(int device, cudaStream_t stream, cudaGraph_t* graph);
/// Whether a capture is in progress on the device's GPU: its memory must not be freed then.
bool capturing_on(int device);
/// Whether work submitted to this stream is currently captured.
bool is_captured(cudaStream_t stream);
/// Waits for all streams of the device's GPU except those being captured.
cudaError_t wait_for_gpu(int device);
/// Waits for the stream unless it is being captured.
cudaError_t wait_for_stream(int device, cudaStream_t stream);

/// While it lives, this thread may allocate, free and query events during a capture.
class RelaxedCapture {
 public:
  RelaxedCapture() { exchange(); }
  ~RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange() { log_failure(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode"); }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace tandem::cuda_impl
