// The update of running statistics, one kernel of the family of batch normalisation.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::cuda_impl {

/// As BatchNormKernels::track.
void track_statistics(const Tensor& running_mean, const Tensor& running_var, const Tensor& batches, const Tensor& mean,
                      const Tensor& variance, double momentum, double factor);

}  // namespace tandem::cuda_impl
