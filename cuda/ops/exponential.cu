// Exponentials, logarithms and the error function on CUDA devices, and their gradients.
#include "tandem/core/formulas/exponential_ops.h"

#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/pointwise_tables.h"
#include "tandem/cuda/unary.h"

namespace tandem::cuda_impl {
constinit const KernelArray<ExponentialOps, UnarySignature> exponential_kernels =
    KernelArray<ExponentialOps, UnarySignature>::from<UnaryMaker>();
constinit const KernelArray<ExponentialOps, GradientSignature, "_backward"> exponential_gradients =
    KernelArray<ExponentialOps, GradientSignature, "_backward">::from<GradientMaker>();
}  // namespace tandem::cuda_impl
