// What happens around a kernel call that somebody watches: the profiler's span, and the call of a recorder.
// Kernel::operator() comes here while profiler::is_on().
#pragma once
#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/profile.h"
#include "tandem/core/tensor.h"

namespace tandem {
struct Gradients;
struct Operand;
struct StreamHandle;
}  // namespace tandem

namespace tandem::profiler::detail {

/// What a span reports about a kernel's arguments.
struct KernelArguments {
  const Tensor* tensors[8] = {};
  int tensor_count = 0;
  Device devices[2];
  int device_count = 0;
  std::size_t bytes = 0;

  KernelArguments() = default;
  explicit KernelArguments(const KernelCall& call);
  void note(const Tensor& t);
  void note(const Operand& operand);
  void note(const StreamHandle& stream);
  void note(Device device);
  void note(TensorList tensors);
  void note(const Gradients& gradients);
};

/// The device whose stream runs a kernel with these arguments; the CPU unless they name another.
Device device_of(const KernelArguments& arguments);

}  // namespace tandem::profiler::detail

namespace tandem::detail {

/// From before a kernel call to its end. A kernel may call others: the recorder is told of the outermost call only.
class WatchedCall {
 public:
  /// `queued`: also show the span on the device's stream, if the device's kernels return before their work is
  /// done. Throws what the recorder throws.
  WatchedCall(const KernelCall& call, bool queued);
  ~WatchedCall();
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

 private:
  const PauseRecorder paused_;
  const char* name_;
  profiler::detail::Open open_;
  char note_[48];
};

}  // namespace tandem::detail
