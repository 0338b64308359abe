// Functions for dlpack_exchange.py: a tensor goes out, comes in, is changed.
#include "tandem/autograd/dlpack.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/dlpack_structs.h"
#include "tandem/core/memory/cpu_allocator.h"

using namespace tandem;

namespace {

Tensor kept;

}  // namespace

extern "C" {

/// arange(12) of this dtype as [3, 4], transposed, without the first column.
DLManagedTensor* make(int dtype) {
  return to_dlpack(arange(12, kFloat).to(static_cast<ScalarType>(dtype)).view({3, 4}).t().narrow(1, 1, 2));
}
DLManagedTensorVersioned* make_versioned(int dtype, int read_only) {
  return to_dlpack_versioned(arange(12, kFloat).to(static_cast<ScalarType>(dtype)).view({3, 4}).t().narrow(1, 1, 2),
                             read_only != 0);
}
int64_t bytes_in_use() { return memory_stats(Device(kCPU)).current_bytes; }

/// Keeps a tensor; 1 if it is refused.
int take(DLManagedTensor* managed) try {
  kept = from_dlpack(managed);
  return 0;
} catch (const Error&) {
  return 1;
}
int take_versioned(DLManagedTensorVersioned* managed) try {
  kept = from_dlpack(managed);
  return 0;
} catch (const Error&) {
  return 1;
}
int kept_dtype() { return static_cast<int>(kept.dtype().toScalarType()); }
int64_t kept_stride(int64_t dim) { return kept.stride(dim); }
double kept_sum() {
  return is_complex(kept.dtype()) ? real(kept).sum().item<double>() : kept.to(kDouble).sum().item<double>();
}
void zero() { kept.zero_(); }
void drop() { kept.reset(); }
}
