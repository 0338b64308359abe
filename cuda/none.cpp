// Linked into builds without the CUDA backend.
#include "tandem/core/backend/backend.h"

namespace tandem {
const Backend* cuda_backend() { return nullptr; }
const char* cuda_reason() { return "built without CUDA"; }
}  // namespace tandem
