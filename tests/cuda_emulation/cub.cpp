// The second call of CUB functions.
#include <cub/emulation.h>

#include "tandem/tests/cuda_emulation/library.h"

namespace tandem::cuda_emulation {

cudaError_t enqueue_cub(const char* operation, void* storage, std::size_t bytes, std::size_t needed,
                        cudaStream_t stream, std::function<void()> run) {
  return call(operation, [&] {
    if (bytes < needed || !usable(storage, bytes, host_thread().gpu)) return cudaErrorInvalidValue;
    const cudaError_t status = enqueue(stream, Work::kKernel, operation, [storage, needed, run = std::move(run)] {
      clobber(storage, needed);
      run();
    });
    if (status == cudaSuccess) ++state().counters.library_calls;
    return status;
  });
}

}  // namespace tandem::cuda_emulation
