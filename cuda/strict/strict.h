// TANDEM_REPRODUCIBLE=strict on CUDA: kernels in this folder compute the CPU backend's bits (docs/reproducibility.md).
#pragma once
#include "tandem/core/reproducible.h"

namespace tandem::cuda_impl {

/// Whether results must have the CPU's bits.
inline bool is_strict() { return reproducible() == Reproducible::kStrict; }

}  // namespace tandem::cuda_impl
