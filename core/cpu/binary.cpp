// The table of elementwise kernels of two arguments on the CPU.
#include "tandem/core/cpu/binary_parts.h"
#include "tandem/core/formulas/binary_ops.h"

namespace tandem::cpu {
constinit const BinaryKernels binary_kernels{.value = decltype(BinaryKernels::value)::from<BinaryMaker>()};
}  // namespace tandem::cpu
