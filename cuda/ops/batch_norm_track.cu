// Running statistics of batch normalisation: both buffers and the count of batches in one launch. A network has dozens of
// these layers, and five launches for each take the host longer than the GPU.
#include "tandem/cuda/ops/batch_norm_tables.h"

#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/launch.h"

namespace tandem::cuda_impl {
namespace {

__global__ void track_kernel(float* running_mean, float* running_var, int64_t* batches, const float* mean,
                             const float* variance, float keep, float of_mean, float of_variance, int64_t channels) {
  const int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c == 0 && batches != nullptr) ++*batches;
  if (c >= channels) return;
  running_mean[c] = running_mean[c] * keep + of_mean * mean[c];
  running_var[c] = running_var[c] * keep + of_variance * variance[c];
}

}  // namespace

void track_statistics(const Tensor& running_mean, const Tensor& running_var, const Tensor& batches, const Tensor& mean,
                      const Tensor& variance, double momentum, double factor) {
  const int64_t channels = running_mean.numel();
  launch("batch_norm_track", context(running_mean.device()), grid_for(std::max<int64_t>(1, channels)), track_kernel,
         running_mean.ptr<float>(), running_var.ptr<float>(), data_or_null<int64_t>(batches), mean.ptr<float>(),
         variance.ptr<float>(), static_cast<float>(1 - momentum), static_cast<float>(momentum),
         static_cast<float>(momentum * factor), channels);
}

}  // namespace tandem::cuda_impl
