// Pooling of channels-last tensors [N, C, H, W] (pool2d_channels.cu).
#pragma once
#include "tandem/cuda/ops/pool2d_loop.h"

namespace tandem::cuda_impl {

// In strict mode the averages, and the maxima without indices, of planes are also computed here, in the CPU's order.

/// Whether a pooling kernel got a channels-last tensor in place of planes.
inline bool is_image(const Tensor& t) { return t.dim() == 4; }

void avg_forward_channels(const Tensor& out, const Tensor& input, const Pool2dParameters& p);
void adaptive_avg_forward_channels(const Tensor& out, const Tensor& input);
void max_forward_channels(const Tensor& out, const Tensor& indices, const Tensor& input, const Pool2dParameters& p);
void max_backward_channels(const Tensor& grad_input, const Tensor& grad_output, const Tensor& indices,
                           const Pool2dParameters& p);
void max_gather_channels(const Tensor& out, const Tensor& input, const Tensor& indices, const Pool2dParameters& p);
/// The gradient of both averages.
void spread_channels(const char* operation, const Tensor& grad_input, const Tensor& grad_output, const PoolShape& s);
void spread_channels(const char* operation, const Tensor& grad_input, const Tensor& grad_output,
                     const AdaptivePoolShape& s);

}  // namespace tandem::cuda_impl
