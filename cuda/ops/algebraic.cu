// Algebraic functions on CUDA devices, and their gradients.
#include "tandem/core/formulas/algebraic_ops.h"

#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/pointwise_tables.h"
#include "tandem/cuda/unary.h"

namespace tandem::cuda_impl {
constinit const KernelArray<AlgebraicOps, UnarySignature> algebraic_kernels =
    KernelArray<AlgebraicOps, UnarySignature>::from<UnaryMaker>();
constinit const KernelArray<AlgebraicOps, GradientSignature, "_backward"> algebraic_gradients =
    KernelArray<AlgebraicOps, GradientSignature, "_backward">::from<GradientMaker>();
}  // namespace tandem::cuda_impl
