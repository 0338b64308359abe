// Convolutions of few channels, by kernels of ours: cuDNN transforms them (Winograd, Fourier), at several times the bytes.
// Each element is summed in float32 in an order that depends on the shapes alone.
#pragma once
#include "tandem/cuda/ops/conv2d_plan.h"

namespace tandem::cuda_impl {

/// Whether there is a kernel: for one group, 1 to 64 channels in and out, kernels of 3 to 7 elements along each axis, strides
/// of 1 or 2 and no dilation; float32 and half types; the gradient of the input of strides of 1 only. Either layout.
bool has_direct(const ConvKey& key);
/// Bytes that run_direct() needs.
std::size_t direct_workspace(const ConvKey& key);
/// `bias` [O] is added to a forward convolution, in float32; or undefined.
void run_direct(Context& c, const ConvKey& key, const ConvTensors& t, const Tensor& workspace, const Tensor& bias);

}  // namespace tandem::cuda_impl
