// CUDA kernels of the binary operations, part 0 of 2.
#include "tandem/core/formulas/binary_ops.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/binary.h"

namespace tandem::cuda_impl {
[[gnu::used]] constexpr auto kernels = instantiate<BinaryMaker<BinaryLoops>>(part_t<ops::BinaryOps, 0, 2>{});
}  // namespace tandem::cuda_impl
