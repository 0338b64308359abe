// The table of elementwise kernels.
#include "tandem/core/backend/pointwise.h"
#include "tandem/cuda/ops/pointwise_tables.h"

namespace tandem::cuda_impl {
constinit const PointwiseKernels pointwise_kernels{
    .unary = {.rounding = rounding_kernels,
              .algebraic = algebraic_kernels,
              .exponential = exponential_kernels,
              .trigonometric = trigonometric_kernels,
              .activation = activation_kernels},
    .gradient = {.algebraic = algebraic_gradients,
                 .exponential = exponential_gradients,
                 .trigonometric = trigonometric_gradients,
                 .activation = activation_gradients},
    .binary = {.arithmetic = arithmetic_kernels, .bitwise = bitwise_kernels},
    .compare = compare_kernels,
    .ternary = ternary_kernels,
    .where = where,
    .copy = copy,
    .fill = fill,
};
}  // namespace tandem::cuda_impl
