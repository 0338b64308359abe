// Tests whether a GPU can run this build's kernels.
#include "tandem/cuda/cards.h"
#include "tandem/cuda/device.h"

namespace tandem::cuda_impl {

__global__ void probe_kernel() {}

cudaError_t probe_card() { return can_run(probe_kernel); }

}  // namespace tandem::cuda_impl
