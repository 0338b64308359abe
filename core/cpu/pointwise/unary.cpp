// The table of elementwise kernels of one argument on the CPU.
#include "tandem/core/backend/elementwise_parts.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/unary_ops.h"

namespace tandem::cpu {
struct UnaryLoops;  // unary_loop.h
constinit const UnaryKernels unary_kernels = make_unary_kernels<UnaryLoops>(kTakesHalf);
}  // namespace tandem::cpu
