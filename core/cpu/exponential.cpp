// Exponentials and logarithms on the CPU, and their gradients.
#include "tandem/core/formulas/exponential_ops.h"

#include "tandem/core/cpu/pointwise_tables.h"
#include "tandem/core/cpu/unary_loop.h"

namespace tandem::cpu {
constinit const KernelArray<ExponentialOps, UnarySignature> exponential_kernels =
    KernelArray<ExponentialOps, UnarySignature>::from<UnaryMaker>();
constinit const KernelArray<ExponentialOps, GradientSignature, "_backward"> exponential_gradients =
    KernelArray<ExponentialOps, GradientSignature, "_backward">::from<GradientMaker>();
}  // namespace tandem::cpu
