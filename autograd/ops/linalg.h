// Matrix products. Operands must have the same numeric dtype and device; integers have no gradient.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// [M, K] x [K, N] → [M, N]. Throws Error for other ranks and when inner sizes, dtypes or devices differ.
Tensor mm(const Tensor& self, const Tensor& other);
/// [B, M, K] x [B, K, N] → [B, M, N]. Throws like mm.
Tensor bmm(const Tensor& self, const Tensor& other);
/// [M, K] x [K] → [M].
Tensor mv(const Tensor& self, const Tensor& vec);
/// [K] x [K] → [].
Tensor dot(const Tensor& self, const Tensor& other);
/// [M] x [N] → [M, N]; dtypes promote.
Tensor outer(const Tensor& self, const Tensor& other);
inline Tensor ger(const Tensor& self, const Tensor& other) { return outer(self, other); }
/// Product of tensors with at least one dimension: a vector is a row on the left and a column on the right,
/// and its size-1 dimension is dropped. Dimensions before the last two are batch dimensions and broadcast.
Tensor matmul(const Tensor& self, const Tensor& other);

/// beta self + alpha a b; self broadcasts to [M, N]. With beta 0 self is ignored, NaN included.
Tensor addmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
             const Scalar& alpha = 1);
/// The batched form: a [B, M, K], b [B, K, N].
Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
               const Scalar& alpha = 1);

/// x weightᵀ + bias: x [..., K], weight [N, K], bias [N] or undefined → [..., N].
/// Throws Error for other shapes, dtypes or devices.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});

namespace autograd {
/// Throws Error naming both tensors unless dtypes and devices are equal.
void check_alike(const char* operation, const char* first_name, const Tensor& first, const char* second_name,
                 const Tensor& second);
}  // namespace autograd

}  // namespace tandem
