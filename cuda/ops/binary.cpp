// The table of elementwise kernels of two arguments on CUDA devices.
#include "tandem/core/backend/elementwise_parts.h"
#include "tandem/core/formulas/binary_ops.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
struct BinaryLoops;  // binary.h
constinit const BinaryKernels binary_kernels = make_binary_kernels<BinaryLoops>();
}  // namespace tandem::cuda_impl
