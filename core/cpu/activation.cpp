// Activation functions on the CPU, and their gradients.
#include "tandem/core/formulas/activation_ops.h"

#include "tandem/core/cpu/pointwise_tables.h"
#include "tandem/core/cpu/unary_loop.h"

namespace tandem::cpu {
constinit const KernelArray<ActivationOps, UnarySignature> activation_kernels =
    KernelArray<ActivationOps, UnarySignature>::from<UnaryMaker>();
constinit const KernelArray<ActivationOps, GradientSignature, "_backward"> activation_gradients =
    KernelArray<ActivationOps, GradientSignature, "_backward">::from<GradientMaker>();
}  // namespace tandem::cpu
