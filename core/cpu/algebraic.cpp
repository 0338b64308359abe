// Algebraic functions on the CPU, and their gradients.
#include "tandem/core/kernels/algebraic_ops.h"

#include "tandem/core/cpu/pointwise_tables.h"
#include "tandem/core/cpu/unary_loop.h"

namespace tandem::cpu {
constinit const KernelArray<AlgebraicOps, UnarySignature> algebraic_kernels =
    KernelArray<AlgebraicOps, UnarySignature>::from<UnaryMaker>();
constinit const KernelArray<AlgebraicOps, GradientSignature> algebraic_gradients =
    KernelArray<AlgebraicOps, GradientSignature>::from<GradientMaker>();
}  // namespace tandem::cpu
