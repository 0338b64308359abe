// Arithmetic of two arguments on CUDA devices.
#include "tandem/core/formulas/arithmetic_ops.h"

#include "tandem/cuda/binary.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/pointwise_tables.h"

namespace tandem::cuda_impl {
constinit const KernelArray<ArithmeticOps, BinarySignature> arithmetic_kernels =
    KernelArray<ArithmeticOps, BinarySignature>::from<BinaryMaker>();
}  // namespace tandem::cuda_impl
