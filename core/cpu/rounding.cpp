// Signs and roundings on the CPU.
#include "tandem/core/formulas/rounding_ops.h"

#include "tandem/core/cpu/pointwise_tables.h"
#include "tandem/core/cpu/unary_loop.h"

namespace tandem::cpu {
constinit const KernelArray<RoundingOps, UnarySignature> rounding_kernels =
    KernelArray<RoundingOps, UnarySignature>::from<UnaryMaker>();

}  // namespace tandem::cpu
