// Matrix products with the CPU's bits.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::cuda_impl::strict {

/// out = alpha a b + beta out, of a floating point dtype, as LinalgKernels::matmul; the rows of out may be further apart.
/// With a `bias`, one number per column, beta is its factor.
void matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha,
            const Tensor& bias = {});

/// LinalgKernels::quantized_linear.
void quantized_linear(const Tensor& out, const Tensor& x, const Tensor& values, const Tensor& scales,
                      const Tensor& bias);

}  // namespace tandem::cuda_impl::strict
