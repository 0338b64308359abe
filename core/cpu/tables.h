// The CPU's kernel tables, one per family, and the table of all.
#pragma once
#include "tandem/core/backend/backend.h"

namespace tandem::cpu {
#define TANDEM_FAMILY(Kernels, name) extern const Kernels name##_kernels;
TANDEM_KERNEL_FAMILIES(TANDEM_FAMILY)
#undef TANDEM_FAMILY
/// For the instruction set of the source that includes this.
extern const Backend kernels;
}  // namespace tandem::cpu
