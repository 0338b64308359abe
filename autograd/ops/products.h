// Products composed of matmul and elementwise ones.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The sum over `dims_self` of self and `dims_other` of other; what remains of self, then of other.
Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other);
/// The sum over both last dimensions; a number multiplies.
Tensor inner(const Tensor& self, const Tensor& other);
/// Kronecker's product: sizes multiply, missing dimensions are 1 in front.
Tensor kron(const Tensor& self, const Tensor& other);
/// Of vectors of 3 along `dim`; without it the first dimension of size 3.
Tensor cross(const Tensor& self, const Tensor& other, optional<int64_t> dim = nullopt);
inline Tensor vdot(const Tensor& self, const Tensor& other) { return self.dot(other); }
/// beta self + alpha mat vec, and beta self + alpha a bᵀ; beta 0 ignores self.
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta = 1,
             const Scalar& alpha = 1);
Tensor addr(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
            const Scalar& alpha = 1);
/// Square matrices multiplied n >= 0 times; 0 gives the identity.
Tensor matrix_power(const Tensor& self, int64_t n);
/// x1 weight x2 + bias for each output: x1 [..., a], x2 [..., b], weight [o, a, b], bias [o] or undefined.
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {});

}  // namespace tandem
