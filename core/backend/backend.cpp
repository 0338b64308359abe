// Errors for a backend that is not available.
#include "tandem/core/backend/backend.h"

#include <string_view>

namespace tandem {
void no_cuda() {
  const std::string_view reason = cuda_reason();
  fail(reason.starts_with("no CUDA device") ? "" : "no CUDA device can be used: ", reason);
}
}  // namespace tandem
