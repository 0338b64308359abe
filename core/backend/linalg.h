// Matrix products.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct LinalgKernels {
  /// out = alpha a b + beta out. a [B, M, K], b [B, K, N], out [B, M, N] contiguous, or all without B; a and
  /// b of any strides; one numeric dtype. beta == 0 does not read out. out shares no memory with a and b.
  Kernel<"matmul",
         void(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha)>
      matmul;
  /// out = x weightᵀ + bias. x [M, K] and weight [N, K] of any strides, bias [N] contiguous or undefined, out
  /// [M, N] contiguous; one numeric dtype.
  Kernel<"linear", void(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias)> linear;
};

}  // namespace tandem
