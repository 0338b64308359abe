// Whether a card can run this build's kernels.
#include "tandem/cuda/cards.h"
#include "tandem/cuda/device.h"

namespace tandem::cuda {

__global__ void probe_kernel() {}

cudaError_t probe_card() {
#ifdef TANDEM_CUDA_EMULATION
  return cudaSuccess;
#else
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(probe_kernel));
#endif
}

}  // namespace tandem::cuda
