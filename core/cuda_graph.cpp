// CUDAGraph, through the backend's capture functions.
#include "tandem/core/cuda_graph.h"

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/capture.h"

namespace tandem::cuda {

CUDAGraph::CUDAGraph() = default;
CUDAGraph::~CUDAGraph() { reset(); }

void CUDAGraph::capture_begin() {
  check(!recording_, "CUDAGraph: capture_begin() was called twice");
  check(capture_ == nullptr, "CUDAGraph: holds a recording already; call reset() first");
  const Device device = resolve(kCUDA);
  const CaptureKernels& kernels = backend(device).capture;
  check(static_cast<bool>(kernels.create), "CUDAGraph: this build does not record on ", device);
  auto capture = std::make_unique<Capture>(kernels, device);
  kernels.begin(capture->get(), /*fuses=*/true);
  capture_ = std::move(capture);
  recording_ = true;
}

void CUDAGraph::capture_end() {
  check(recording_, "CUDAGraph: capture_end() without capture_begin()");
  recording_ = false;
  const std::string refusal = capture_->kernels().end(capture_->get()).refusal;
  if (refusal.empty()) return;
  reset();
  fail("CUDAGraph: the work cannot be replayed, because it ", refusal);
}

void CUDAGraph::replay() {
  check(capture_ != nullptr && !recording_, "CUDAGraph: nothing is recorded");
  capture_->kernels().replay(capture_->get());
}

void CUDAGraph::reset() {
  if (recording_) capture_->kernels().end(capture_->get());
  recording_ = false;
  capture_ = nullptr;
}

}  // namespace tandem::cuda
