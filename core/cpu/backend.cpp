// The CPU's backend table, for one instruction set (kernel_sets.h).
#include "tandem/core/backend/capture.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
// Steps cannot be captured on the CPU.
constinit const CaptureKernels capture_kernels{};

#define TANDEM_FAMILY(Kernels, name) .name = name##_kernels,
constinit const Backend kernels{TANDEM_KERNEL_FAMILIES(TANDEM_FAMILY)};
}  // namespace tandem::cpu
