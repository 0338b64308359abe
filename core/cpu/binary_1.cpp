// CPU kernels of the binary operations, part 1 of 2.
#include "tandem/core/cpu/binary_loop.h"
#include "tandem/core/cpu/binary_parts.h"
#include "tandem/core/formulas/binary_ops.h"

namespace tandem::cpu {
[[gnu::used]] constexpr auto kernels = instantiate<BinaryMaker>(part_t<ops::BinaryOps, 1, 2>{});
}  // namespace tandem::cpu
