// Thread-local modes that affect new tensors; set by the guards of autograd/grad_mode.h.
#pragma once

namespace tandem::detail {

struct ThreadState {
  bool grad_mode = true;
  bool inference_mode = false;
};
[[gnu::tls_model("initial-exec")]] extern thread_local constinit ThreadState thread_state;

}  // namespace tandem::detail
