// Captured steps: the device work of a program, recorded once and replayed as one launch.
//
// A capture owns a stream and a memory pool. Between enter() and leave(), work runs on that stream with
// memory from that pool; between begin() and end(), it is recorded instead of run. The memory then belongs to
// the replays. All calls for one capture must come from the same thread.
#pragma once
#include <string>
#include <vector>

#include "tandem/core/backend/kernel.h"
#include "tandem/core/fusion_counts.h"

namespace tandem {

/// The tensors passed to an optimizer kernel while a step was recorded.
struct OptimizerCall {
  std::vector<Tensor> params, grads;
};

struct CaptureResult {
  /// Why the step cannot be replayed, such as "reads a value on the host"; empty if it was recorded. The
  /// default generator is reset to its state at begin().
  std::string refusal;
  std::vector<OptimizerCall> calls;
  std::size_t nodes = 0;  ///< kernels and copies in the graph
  FusionCounts fused;
};

/// The capture functions of a backend, which has all or none of them, but for `place`.
struct CaptureKernels {
  OptionalKernel<"", void*(Device)> create;
  OptionalKernel<"", void(void* capture)> destroy;

  /// Directs this thread's work to the capture's stream, ordered after the current stream, and its
  /// allocations to the pool. leave(), which never throws, orders the current stream after it.
  OptionalKernel<"", void(void* capture)> enter;
  OptionalKernel<"", void(void* capture)> leave;
  /// `fuses`: elementwise kernels that follow each other become one, with the same bits.
  OptionalKernel<"", void(void* capture, bool fuses)> begin;
  /// Must be called even if the recorded work threw. Never throws.
  OptionalKernel<"", CaptureResult(void* capture)> end;
  /// After a recording that will be replayed: what it leaves behind for the program, outputs and gradients. They may move
  /// to other memory. Absent if they stay where they are.
  OptionalKernel<"", void(void* capture, TensorList results)> place = {};

  /// Between begin_numbers() and end_numbers(), optimizer kernels store their new numbers and launch nothing.
  /// end_numbers() returns what differs from the recording, or "". Never throws.
  OptionalKernel<"", void(void* capture)> begin_numbers;
  OptionalKernel<"", std::string(void* capture)> end_numbers;
  /// Runs the recorded work on the current stream, with the current numbers and with the random numbers that
  /// the default generator would draw now. Advances the generator by as many draws.
  OptionalKernel<"", void(void* capture)> replay;
};

/// Owns a capture of the backend of a device.
class Capture {
 public:
  Capture(const CaptureKernels& kernels, Device device) : kernels_(kernels), capture_(kernels.create(device)) {}
  ~Capture() { kernels_.destroy(capture_); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  const CaptureKernels& kernels() const { return kernels_; }
  void* get() const { return capture_; }

 private:
  const CaptureKernels& kernels_;
  void* capture_;
};

}  // namespace tandem
