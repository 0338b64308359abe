// Whether operations are recorded, a per-thread setting.
#pragma once
#include "tandem/autograd/anomaly_mode.h"
#include "tandem/core/threads/thread_state.h"

namespace tandem {

struct GradMode {
  static bool is_enabled() { return detail::thread_state.grad_mode; }
  static void set_enabled(bool enabled) { detail::thread_state.grad_mode = enabled; }
};

/// Enables or disables recording until the guard goes out of scope.
class AutoGradMode {
 public:
  [[nodiscard]] explicit AutoGradMode(bool enabled) : previous_(GradMode::is_enabled()) {
    GradMode::set_enabled(enabled);
  }
  ~AutoGradMode() { GradMode::set_enabled(previous_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool previous_;
};
struct NoGradGuard : AutoGradMode {
  [[nodiscard]] NoGradGuard() : AutoGradMode(false) {}
};

/// No recording, no version checks, no view tracking: the cheapest mode. Tensors created in it cannot take
/// part in autograd later.
class InferenceMode {
 public:
  [[nodiscard]] explicit InferenceMode(bool enabled = true) : previous_(detail::thread_state) {
    detail::thread_state.inference_mode = enabled;
    detail::thread_state.grad_mode = !enabled;
  }
  ~InferenceMode() { detail::thread_state = previous_; }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  static bool is_enabled() { return detail::thread_state.inference_mode; }

 private:
  detail::ThreadState previous_;
};

}  // namespace tandem
