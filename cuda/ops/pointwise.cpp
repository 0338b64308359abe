// The table of elementwise kernels on CUDA devices.
#include "tandem/core/formulas/binary_ops.h"
#include "tandem/core/formulas/unary_ops.h"
#include "tandem/cuda/ops/pointwise_tables.h"

namespace tandem::cuda_impl {
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
}  // namespace tandem::cuda_impl
