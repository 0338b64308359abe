// CUDAGraph: device work that is recorded once and then replayed as one launch (LibTorch's at::cuda::CUDAGraph).
//
//   cuda::CUDAGraph graph;
//   graph.capture_begin();
//   y.copy_(net->forward(x));
//   graph.capture_end();
//   for (…) { x.copy_(next); graph.replay(); }
//
// Nothing is checked at a replay; for training steps use CapturedStep (nn/captured_step.h), which notices what has
// changed. Not thread-safe; all calls belong to one thread.
#pragma once
#include <memory>

namespace tandem {
class Capture;
}

namespace tandem::cuda {

class CUDAGraph {
 public:
  CUDAGraph();
  /// Waits for the last replay.
  ~CUDAGraph();
  CUDAGraph(const CUDAGraph&) = delete;
  CUDAGraph& operator=(const CUDAGraph&) = delete;

  /// From now on, work that the calling thread submits to the current CUDA device is recorded instead of run. Run the
  /// same work once before, so that libraries are loaded. Tensors that are created meanwhile keep their memory for the
  /// replays. Throws Error without a CUDA device, or if this graph is being recorded or holds a recording.
  void capture_begin();
  /// Throws Error, with the reason, if the work cannot be replayed; the graph is then empty.
  void capture_end();
  /// Runs the recorded work on the current stream. Random numbers continue those of the default generator; an
  /// optimizer's numbers, such as the learning rate, are those of the recording. Throws Error if nothing is recorded.
  void replay();
  /// Drops the recording and its memory.
  void reset();

 private:
  std::unique_ptr<Capture> capture_;
  bool recording_ = false;
};

}  // namespace tandem::cuda
