// Checks and sizes that convolutions of 1, 2 and 3 dimensions share. Internal to their sources.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// Throws Error unless input is [N, C, ...] or [C, ...] with `rank` more dimensions, weight is [O, C / groups, ...], or
/// if transposed [C, O / groups, ...], with a kernel that is not empty, bias is [O] or undefined,
/// and dtypes and devices agree.
void check_convolution(const char* operation, const Tensor& input, const Tensor& weight, const Tensor& bias,
                       int64_t groups, int64_t rank, bool transposed);

/// The one number of an argument of a 1D convolution. Throws Error unless it is one, from `least` to INT32_MAX.
int64_t single(const char* operation, const char* what, IntArrayRef value, int64_t least);

/// Throws Error unless the kernel, dilated, fits into the padded input along dimension d >= 2 of weight.
void check_kernel_fits(const char* operation, const Tensor& input, const Tensor& weight, int64_t d, int64_t padding,
                       int64_t dilation);

/// The sizes after [N, C] of a transposed convolution, (size - 1) stride - 2 padding + dilation (kernel - 1) +
/// output_padding + 1. Input and weight have been checked, and each list holds one number per dimension. Throws Error
/// if the output would be empty, or unless output_padding is less than the stride or the dilation.
Dims transposed_sizes(const char* operation, const Tensor& input, const Tensor& weight, IntArrayRef stride,
                      IntArrayRef padding, IntArrayRef output_padding, IntArrayRef dilation);

}  // namespace tandem::autograd
