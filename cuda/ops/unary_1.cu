// CUDA kernels of the unary operations and their gradients, part 1 of 5.
#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/unary.h"

namespace tandem::cuda_impl {
[[gnu::used]] constexpr auto kernels = instantiate<UnaryMaker<UnaryLoops>>(part_t<ops::UnaryOps, 1, 5>{});
[[gnu::used]] constexpr auto gradients = instantiate<GradientMaker<UnaryLoops>>(part_t<ops::GradientOps, 1, 5>{});
}  // namespace tandem::cuda_impl
