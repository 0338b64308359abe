// Algebraic functions on the CPU, and their gradients.
#include "tandem/core/formulas/algebraic_ops.h"

#include "tandem/core/cpu/pointwise_tables.h"
#include "tandem/core/cpu/unary_loop.h"

namespace tandem::cpu {
constinit const KernelArray<AlgebraicOps, UnarySignature> algebraic_kernels =
    KernelArray<AlgebraicOps, UnarySignature>::from<UnaryMaker>();
constinit const KernelArray<AlgebraicOps, GradientSignature, "_backward"> algebraic_gradients =
    KernelArray<AlgebraicOps, GradientSignature, "_backward">::from<GradientMaker>();
}  // namespace tandem::cpu
