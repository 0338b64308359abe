// Trigonometric and hyperbolic functions on CUDA devices, and their gradients.
#include "tandem/core/formulas/trigonometric_ops.h"

#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/pointwise_tables.h"
#include "tandem/cuda/unary.h"

namespace tandem::cuda_impl {
constinit const KernelArray<TrigonometricOps, UnarySignature> trigonometric_kernels =
    KernelArray<TrigonometricOps, UnarySignature>::from<UnaryMaker>();
constinit const KernelArray<TrigonometricOps, GradientSignature, "_backward"> trigonometric_gradients =
    KernelArray<TrigonometricOps, GradientSignature, "_backward">::from<GradientMaker>();
}  // namespace tandem::cuda_impl
