// Part 3 of 4 of the functions of one argument on the CPU, with their gradients.
#include "tandem/core/cpu/unary_loop.h"

namespace tandem::cpu {
[[gnu::used]] constexpr auto kernels = instantiate<UnaryMaker>(part_t<ops::UnaryOps, 3, 4>{});
[[gnu::used]] constexpr auto gradients = instantiate<GradientMaker>(part_t<ops::GradientOps, 3, 4>{});
}  // namespace tandem::cpu
