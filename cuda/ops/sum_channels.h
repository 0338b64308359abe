// Sums over all but the channels, in batch_norm.cu, whose sums read planes of any size by 16 bytes.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::cuda_impl {

/// out [C] = the sums of in [N, C, S], contiguous, of one floating point dtype. Half types are summed in float32.
void sum_channels(const Tensor& out, const Tensor& in);

}  // namespace tandem::cuda_impl
