// The table of elementwise kernels of one argument on the CPU.
#include "tandem/core/cpu/unary_parts.h"
#include "tandem/core/formulas/unary_ops.h"

namespace tandem::cpu {
constinit const UnaryKernels unary_kernels{
    .value = decltype(UnaryKernels::value)::from<UnaryMaker>(),
    .gradient = decltype(UnaryKernels::gradient)::from<GradientMaker>(),
};
}  // namespace tandem::cpu
