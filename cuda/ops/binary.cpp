// The table of elementwise kernels of two arguments on CUDA devices.
#include "tandem/core/formulas/binary_ops.h"
#include "tandem/cuda/ops/binary_parts.h"

namespace tandem::cuda_impl {
constinit const BinaryKernels binary_kernels{.value = decltype(BinaryKernels::value)::from<BinaryMaker>()};
}  // namespace tandem::cuda_impl
