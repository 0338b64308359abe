// Arithmetic of two arguments on the CPU.
#include "tandem/core/formulas/arithmetic_ops.h"

#include "tandem/core/cpu/binary_loop.h"
#include "tandem/core/cpu/pointwise_tables.h"

namespace tandem::cpu {
constinit const KernelArray<ArithmeticOps, BinarySignature> arithmetic_kernels =
    KernelArray<ArithmeticOps, BinarySignature>::from<BinaryMaker>();
}  // namespace tandem::cpu
