// Matrix products, and operations composed of them. Operands of a matrix product must have the same numeric
// dtype and device; integers have no gradient.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// [M, K] x [K, N] → [M, N]. Throws Error for other ranks and when inner sizes, dtypes or devices differ.
Tensor mm(const Tensor& self, const Tensor& other);
/// [B, M, K] x [B, K, N] → [B, M, N]. Throws like mm.
Tensor bmm(const Tensor& self, const Tensor& other);
/// The products, computed in out_dtype: the operands' dtype, or float32 for a half type. Throws Error for others.
Tensor mm(const Tensor& self, const Tensor& mat2, ScalarType out_dtype);
Tensor bmm(const Tensor& self, const Tensor& mat2, ScalarType out_dtype);
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

/// beta self + alpha a b; self broadcasts to [M, N]. With beta 0, self is ignored, NaN included.
Tensor addmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1);
/// The batched form: a [B, M, K], b [B, K, N].
Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1);
/// The same, computed in out_dtype as by mm.
Tensor addmm(const Tensor& self, const Tensor& a, const Tensor& b, ScalarType out_dtype, const Scalar& beta = 1,
             const Scalar& alpha = 1);
Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, ScalarType out_dtype, const Scalar& beta = 1,
               const Scalar& alpha = 1);

/// x weightᵀ + bias: x [..., K], weight [N, K], bias [N] or undefined → [..., N].
/// Throws Error for other shapes, dtypes or devices.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});

/// Contracts `dims_self` of self with `dims_other` of other. The result has the remaining dimensions of self, then
/// other's.
Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other);
/// Contracts the last dimensions of both; a 0-dim tensor multiplies.
Tensor inner(const Tensor& self, const Tensor& other);
/// Kronecker product: sizes multiply. The tensor of lower rank gets leading dimensions of size 1.
Tensor kron(const Tensor& self, const Tensor& other);
/// Cross product of 3-element vectors along `dim`, by default the first dimension of size 3.
Tensor cross(const Tensor& self, const Tensor& other, optional<int64_t> dim = nullopt);
/// The dot product with the conjugate of self.
Tensor vdot(const Tensor& self, const Tensor& other);
/// addmv: beta self + alpha mat vec. addr: beta self + alpha a bᵀ. With beta 0, self is ignored.
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta = 1, const Scalar& alpha = 1);
Tensor addr(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1);
/// The n-th power of square matrices; power 0 is the identity, a negative power is a power of the inverse.
Tensor matrix_power(const Tensor& self, int64_t n);
/// x1ᵀ weight[i] x2 + bias[i] for each output i: x1 [..., a], x2 [..., b], weight [o, a, b], bias [o] or undefined.
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {});

namespace autograd {
/// An operand of a product with an out_dtype, converted to it.
Tensor operand_as(const char* operation, const Tensor& x, ScalarType out_dtype);
}  // namespace autograd

}  // namespace tandem
