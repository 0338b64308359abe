// Signs and roundings on CUDA devices.
#include "tandem/core/formulas/rounding_ops.h"

#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/pointwise_tables.h"
#include "tandem/cuda/unary.h"

namespace tandem::cuda_impl {
constinit const KernelArray<RoundingOps, UnarySignature> rounding_kernels =
    KernelArray<RoundingOps, UnarySignature>::from<UnaryMaker>();
}  // namespace tandem::cuda_impl
