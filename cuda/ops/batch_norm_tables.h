// Kernels that batch normalisation shares between its sources and with other families.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::cuda_impl {

/// As BatchNormKernels::track.
void track_statistics(const Tensor& running_mean, const Tensor& running_var, const Tensor& batches, const Tensor& mean,
                      const Tensor& variance, double momentum, double factor);

/// out [C] = the sums of in [N, C, S], contiguous, of one floating point dtype, over all but the channels. Half types
/// are summed in float32. Planes of any size are read by 16 bytes.
void sum_channels(const Tensor& out, const Tensor& in);

}  // namespace tandem::cuda_impl
