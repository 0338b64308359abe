// Compiles generated kernels while a program runs, and starts them.
#pragma once
#include <string>

#include "tandem/cuda/context.h"
#include "tandem/cuda/fusion/fused.h"
#include "tandem/cuda/fusion/generate.h"
#include "tandem/cuda/launch.h"

namespace tandem::cuda_impl {

/// Whether there is a compiler; loads it. If it cannot be loaded, one line on stderr says why, once.
bool has_fused_compiler();

/// The kernel; nullptr if it cannot be compiled. Kept for the rest of the process.
const void* fused_kernel(const Context& c, const FusedSource& source);

/// Enqueues a kernel of fused_kernel(). `core`: the parameter of its core, empty without one.
cudaError_t enqueue_fused(const void* kernel, const LaunchShape& shape, const Fused& p, const std::vector<char>& core);

}  // namespace tandem::cuda_impl
