// CPU kernels of the binary operations, part 1 of 2.
#include "tandem/core/cpu/pointwise/binary_loop.h"
#include "tandem/core/formulas/binary_ops.h"

namespace tandem::cpu {
[[gnu::used]] constexpr auto kernels = instantiate<BinaryMaker<BinaryLoops>>(part_t<ops::BinaryOps, 1, 2>{});
}  // namespace tandem::cpu
