// Reductions. `mask` has a bit for every reduced dimension of `in`; `out` has those dimensions with size 1.
#pragma once
#include "tandem/core/kernels/kernel.h"

namespace tandem {

struct ReduceKernels {
  /// out and in of one dtype (numeric).
  Kernel<void(const Tensor& out, const Tensor& in, uint32_t mask)> sum;
};

}  // namespace tandem
