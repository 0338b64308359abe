// The table of elementwise kernels of two arguments on the CPU.
#include "tandem/core/backend/elementwise_parts.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/binary_ops.h"

namespace tandem::cpu {
struct BinaryLoops;  // binary_loop.h
constinit const BinaryKernels binary_kernels = make_binary_kernels<BinaryLoops>(kTakesHalf);
}  // namespace tandem::cpu
