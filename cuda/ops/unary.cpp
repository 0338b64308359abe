// The table of elementwise kernels of one argument on CUDA devices.
#include "tandem/core/backend/elementwise_parts.h"
#include "tandem/core/formulas/unary_ops.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
struct UnaryLoops;  // unary.h
constinit const UnaryKernels unary_kernels = make_unary_kernels<UnaryLoops>();
}  // namespace tandem::cuda_impl
