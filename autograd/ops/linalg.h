// Matrix products. Operands have one numeric dtype and one device; integers have no gradient.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// [M, K] x [K, N] → [M, N]. Throws Error on other ranks, inner sizes, dtypes or devices that differ.
Tensor mm(const Tensor& self, const Tensor& other);
/// [B, M, K] x [B, K, N] → [B, M, N]. Throws as mm.
Tensor bmm(const Tensor& self, const Tensor& other);
/// [M, K] x [K] → [M].
Tensor mv(const Tensor& self, const Tensor& vec);
/// [K] x [K] → [].
Tensor dot(const Tensor& self, const Tensor& other);
/// [M] x [N] → [M, N]; dtypes promote.
Tensor outer(const Tensor& self, const Tensor& other);
inline Tensor ger(const Tensor& self, const Tensor& other) { return outer(self, other); }
/// Products of all ranks from 1 on: a vector is a row on the left and a column on the right and its size-1
/// dimension is dropped; dimensions before the last two are batches and broadcast.
Tensor matmul(const Tensor& self, const Tensor& other);

/// beta self + alpha a b; self broadcasts to [M, N]; beta 0 ignores it, NaN included.
Tensor addmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
             const Scalar& alpha = 1);
/// The same in batches: a [B, M, K], b [B, K, N].
Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
               const Scalar& alpha = 1);

/// x weightᵀ + bias: x [..., K], weight [N, K], bias [N] or undefined → [..., N].
/// Throws Error on other shapes, dtypes or devices.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});

namespace autograd {
/// Throws Error with both tensors in the text unless dtypes and devices are equal.
void check_alike(const char* operation, const char* first_name, const Tensor& first, const char* second_name,
                 const Tensor& second);
}  // namespace autograd

}  // namespace tandem
