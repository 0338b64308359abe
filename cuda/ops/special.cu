// CUDA kernels of the special functions.
#include "tandem/core/backend/special.h"
#include "tandem/core/formulas/bessel_ops.h"
#include "tandem/core/formulas/special_ops.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/binary.h"
#include "tandem/cuda/ops/unary.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
constinit const SpecialKernels special_kernels{
    .unary = decltype(SpecialKernels::unary)::from<UnaryMaker<UnaryLoops>>(kTakesHalf),
    .binary = decltype(SpecialKernels::binary)::from<BinaryMaker<BinaryLoops>>(kTakesHalf),
};
}  // namespace tandem::cuda_impl
