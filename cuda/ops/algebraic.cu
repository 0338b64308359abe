// Algebraic functions on CUDA devices, and their gradients.
#include "tandem/core/kernels/algebraic_ops.h"

#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/pointwise_tables.h"
#include "tandem/cuda/unary.h"

namespace tandem::cuda_impl {
constinit const KernelArray<AlgebraicOps, UnarySignature> algebraic_kernels =
    KernelArray<AlgebraicOps, UnarySignature>::from<UnaryMaker>();
constinit const KernelArray<AlgebraicOps, GradientSignature> algebraic_gradients =
    KernelArray<AlgebraicOps, GradientSignature>::from<GradientMaker>();
}  // namespace tandem::cuda_impl
