// Matrix products with the CPU's bits.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::cuda_impl::strict {

/// out = alpha a b + beta out, of a floating point dtype, as LinalgKernels::matmul. With a `bias`, one number per column,
/// that is in the place of out.
void matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha,
            const Tensor& bias = {});

}  // namespace tandem::cuda_impl::strict
