// CUDA's kernel tables, one per family; backend.cpp combines them.
#pragma once
#include "tandem/core/backend/backend.h"

namespace tandem::cuda_impl {
#define TANDEM_FAMILY(Kernels, name) extern const Kernels name##_kernels;
TANDEM_KERNEL_FAMILIES(TANDEM_FAMILY)
#undef TANDEM_FAMILY
}  // namespace tandem::cuda_impl
