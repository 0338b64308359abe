// Activation functions on CUDA devices, and their gradients.
#include "tandem/core/formulas/activation_ops.h"

#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/pointwise_tables.h"
#include "tandem/cuda/unary.h"

namespace tandem::cuda_impl {
constinit const KernelArray<ActivationOps, UnarySignature> activation_kernels =
    KernelArray<ActivationOps, UnarySignature>::from<UnaryMaker>();
constinit const KernelArray<ActivationOps, GradientSignature, "_backward"> activation_gradients =
    KernelArray<ActivationOps, GradientSignature, "_backward">::from<GradientMaker>();
}  // namespace tandem::cuda_impl
