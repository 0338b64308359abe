// Operations on the bits of integers on CUDA devices.
#include "tandem/core/formulas/bitwise_ops.h"

#include "tandem/cuda/binary.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/pointwise_tables.h"

namespace tandem::cuda_impl {
constinit const KernelArray<BitwiseOps, BinarySignature> bitwise_kernels =
    KernelArray<BitwiseOps, BinarySignature>::from<BinaryMaker>();
}  // namespace tandem::cuda_impl
