// The table of elementwise kernels of one argument on CUDA devices.
#include "tandem/core/formulas/unary_ops.h"
#include "tandem/cuda/ops/unary_parts.h"

namespace tandem::cuda_impl {
constinit const UnaryKernels unary_kernels{
    .value = decltype(UnaryKernels::value)::from<UnaryMaker>(),
    .gradient = decltype(UnaryKernels::gradient)::from<GradientMaker>(),
};
}  // namespace tandem::cuda_impl
