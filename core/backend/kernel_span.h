// Around a watched kernel call: the profiler's span, and the call of a recorder. Kernel::operator() comes here while
// profiler::is_on().
#pragma once
#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/profile.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// From before a kernel call to its end. A kernel may call others: the recorder is told of the outermost call only.
class WatchedCall {
 public:
  /// `queued`: also show the span on the device's stream, if the device's kernels return before their work is
  /// done. Passes on the recorder's exceptions.
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
