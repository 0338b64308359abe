// The table of elementwise kernels on the CPU.
#include "tandem/core/cpu/pointwise_tables.h"
#include "tandem/core/formulas/binary_ops.h"
#include "tandem/core/formulas/unary_ops.h"

namespace tandem::cpu {
constinit const PointwiseKernels pointwise_kernels{
    .unary = UnaryKernels::from<UnaryMaker>(),
    .gradient = GradientKernels::from<GradientMaker>(),
    .binary = BinaryKernels::from<BinaryMaker>(),
    .compare = compare_kernels,
    .ternary = ternary_kernels,
    .where = where,
    .copy = copy,
    .fill = fill,
};
}  // namespace tandem::cpu
