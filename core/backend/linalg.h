// Matrix products.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct LinalgKernels {
  /// out = alpha a b + beta out. a [B, M, K], b [B, K, N], out [B, M, N], or all without B. out is
  /// contiguous; a and b may have any strides; one numeric dtype. beta == 0 does not read out. out must not
  /// overlap a or b.
  Kernel<"matmul", void(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha),
         HalfCalls{.updates = true}>
      matmul;
  /// out = x weightᵀ + bias. x [M, K] and weight [N, K] may have any strides; bias [N] is contiguous or
  /// undefined; out [M, N] is contiguous; one numeric dtype.
  Kernel<"linear", void(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias)> linear;
  /// out = x weightᵀ + bias with a weight of one byte: weight[n, k] = values[n, k] scales[n, k / ⌈K / G⌉]. x [M, K],
  /// scales [N, G], bias [N] or undefined and out [M, N] are float32; values [N, K] is int8; all are contiguous.
  OptionalKernel<"quantized_linear", void(const Tensor& out, const Tensor& x, const Tensor& values,
                                          const Tensor& scales, const Tensor& bias)>
      quantized_linear = {};
  /// Products of large matrices of a half type are several times faster if rows begin at multiples of so many bytes.
  int64_t row_bytes = 1;
};

}  // namespace tandem
