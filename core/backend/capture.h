// Captured steps: the work that a program gives to a device, recorded once and replayed as one launch.
//
// A capture owns a stream and a pool of memory. enter() … leave() run work in both; begin() … end() record it
// instead of running it. Afterwards its memory belongs to the replays. All calls for a capture come from one
// thread.
#pragma once
#include <string>
#include <vector>

#include "tandem/core/backend/kernel.h"

namespace tandem {

/// The lists that an optimizer's kernel was given while a step was recorded.
struct OptimizerCall {
  std::vector<Tensor> params, grads;
};

struct CaptureResult {
  /// Why there is nothing to replay: "reads a value on the host"; empty: recorded. The default generator
  /// stands again where it stood at begin().
  std::string refusal;
  std::vector<OptimizerCall> calls;
  std::size_t nodes = 0;  ///< kernels and copies of the graph
};

/// Of one backend.
struct CaptureKernels {
  /// Whether steps can be captured at all. Where not, nothing else of this family may be called.
  Kernel<"", bool()> available;
  Kernel<"", void*(Device)> create;
  Kernel<"", void(void* capture)> destroy;

  /// Work of this thread goes to the capture's stream, in order behind the current stream, and its memory
  /// comes from the pool; after leave(), which never throws, the current stream is in order behind it.
  Kernel<"", void(void* capture)> enter;
  Kernel<"", void(void* capture)> leave;
  Kernel<"", void(void* capture)> begin;
  /// Also where the recorded work has thrown. Never throws.
  Kernel<"", CaptureResult(void* capture)> end;

  /// Between the two, kernels of optimizers take over their new numbers and launch nothing. The second gives
  /// what was not as recorded, or "". Never throws.
  Kernel<"", void(void* capture)> begin_numbers;
  Kernel<"", std::string(void* capture)> end_numbers;
  /// Runs the recorded work in the current stream with the numbers as they are now, and with the random
  /// numbers that the default generator would give now; it is advanced by as many draws.
  Kernel<"", void(void* capture)> replay;
};

}  // namespace tandem
