// Part 3 of 5 of the functions of one argument on CUDA devices, with their gradients.
#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/unary.h"

namespace tandem::cuda_impl {
[[gnu::used]] constexpr auto kernels = instantiate<UnaryMaker>(part_t<ops::UnaryOps, 3, 5>{});
[[gnu::used]] constexpr auto gradients = instantiate<GradientMaker>(part_t<ops::GradientOps, 3, 5>{});
}  // namespace tandem::cuda_impl
