// Convolutions in the order of the CPU's sums (core/formulas/conv2d_order.h), for ConvKernels.
#pragma once
#include "tandem/core/backend/conv.h"

namespace tandem::cuda_impl::strict {

/// `bias` [O], or undefined.
void conv2d_forward(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
                    const Conv2dParameters& p);
void conv2d_backward_input(const Tensor& grad_input, const Tensor& grad_output, const Tensor& weight,
                           const Conv2dParameters& p);
void conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_output,
                            const Tensor& input, const Conv2dParameters& p);
void conv2d_backward_bias(const Tensor& grad_bias, const Tensor& grad_output);

}  // namespace tandem::cuda_impl::strict
