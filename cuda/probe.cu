// Tests whether a GPU can run this build's kernels.
#include "tandem/cuda/device.h"
#include "tandem/cuda/gpus.h"

namespace tandem::cuda_impl {

__global__ void probe_kernel() {}

cudaError_t probe_gpu() { return can_run(probe_kernel); }

}  // namespace tandem::cuda_impl
