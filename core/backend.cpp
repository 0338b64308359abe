// Access to a backend that is not there.
#include "tandem/core/backend.h"

namespace tandem {
void no_cuda() { fail("no CUDA device can be used: ", cuda_reason()); }
}  // namespace tandem
