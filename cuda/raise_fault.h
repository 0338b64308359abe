// Reports a bad value from a kernel.
#pragma once
#include "tandem/cuda/device.h"
#include "tandem/cuda/fault.h"

namespace tandem::cuda_impl {

/// For use in kernels. `to` is Context::fault().
__device__ inline void raise_fault(Fault* to, const Fault& fault) {
  if (atomicCAS(&to->claimed, 0, 1) != 0) return;
  to->operation = fault.operation;
  to->value = fault.value;
  to->dim = fault.dim;
  to->size = fault.size;
  to->text = fault.text;
  __threadfence_system();
  *const_cast<volatile int32_t*>(&to->kind) = fault.kind;
}
__device__ inline void raise_index_fault(Fault* to, HostText operation, int64_t index, int64_t dim, int64_t size) {
  raise_fault(to, {static_cast<int32_t>(FaultKind::kIndex), 0, operation, index, dim, size, {}});
}

}  // namespace tandem::cuda_impl
