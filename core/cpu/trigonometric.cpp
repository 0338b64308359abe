// Trigonometric and hyperbolic functions on the CPU, and their gradients.
#include "tandem/core/formulas/trigonometric_ops.h"

#include "tandem/core/cpu/pointwise_tables.h"
#include "tandem/core/cpu/unary_loop.h"

namespace tandem::cpu {
constinit const KernelArray<TrigonometricOps, UnarySignature> trigonometric_kernels =
    KernelArray<TrigonometricOps, UnarySignature>::from<UnaryMaker>();
constinit const KernelArray<TrigonometricOps, GradientSignature, "_backward"> trigonometric_gradients =
    KernelArray<TrigonometricOps, GradientSignature, "_backward">::from<GradientMaker>();
}  // namespace tandem::cpu
