// Operations on the bits of integers on the CPU.
#include "tandem/core/formulas/bitwise_ops.h"

#include "tandem/core/cpu/binary_loop.h"
#include "tandem/core/cpu/pointwise_tables.h"

namespace tandem::cpu {
constinit const KernelArray<BitwiseOps, BinarySignature> bitwise_kernels =
    KernelArray<BitwiseOps, BinarySignature>::from<BinaryMaker>();
}  // namespace tandem::cpu
