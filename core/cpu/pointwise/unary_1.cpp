// CPU kernels of the unary operations and their gradients, part 1 of 4.
#include "tandem/core/cpu/pointwise/unary_loop.h"

namespace tandem::cpu {
[[gnu::used]] constexpr auto kernels = instantiate<UnaryMaker<UnaryLoops>>(part_t<ops::UnaryOps, 1, 4>{});
[[gnu::used]] constexpr auto gradients = instantiate<GradientMaker<UnaryLoops>>(part_t<ops::GradientOps, 1, 4>{});
}  // namespace tandem::cpu
