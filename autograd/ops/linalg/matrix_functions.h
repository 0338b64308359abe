// Norms, products and functions of matrices: the rest of torch.linalg. linalg.h has the decompositions.
#pragma once
#include <string_view>
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem {

// ---- norms. `dim` defaults to all dimensions of a flattened tensor, dtype to self's.
/// (Σ |x|^ord)^(1/ord); ord 0 counts nonzero elements, ∞ and -∞ are the largest and smallest |x|.
Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord = 2, optional<IntArrayRef> dim = nullopt,
                          bool keepdim = false, optional<ScalarType> dtype = nullopt);
/// Σ |x|^ord, the sum of a vector norm before the root.
Tensor linalg__powsum(const Tensor& self, const Scalar& ord = 2, optional<IntArrayRef> dim = nullopt,
                      bool keepdim = false, optional<ScalarType> dtype = nullopt);
/// ord: "fro", "nuc", or 1, -1 (column sums), ∞, -∞ (row sums), 2, -2 (singular values). dim has two dimensions.
Tensor linalg_matrix_norm(const Tensor& self, const Scalar& ord, IntArrayRef dim = {-2, -1}, bool keepdim = false,
                          optional<ScalarType> dtype = nullopt);
Tensor linalg_matrix_norm(const Tensor& self, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          bool keepdim = false, optional<ScalarType> dtype = nullopt);
/// Vector norm for one dimension or without ord, matrix norm for two.
Tensor linalg_norm(const Tensor& self, const optional<Scalar>& ord = nullopt, optional<IntArrayRef> dim = nullopt,
                   bool keepdim = false, optional<ScalarType> dtype = nullopt);
Tensor linalg_norm(const Tensor& self, std::string_view ord, optional<IntArrayRef> dim = nullopt, bool keepdim = false,
                   optional<ScalarType> dtype = nullopt);
Tensor nuclear_norm(const Tensor& self, bool keepdim = false);
Tensor nuclear_norm(const Tensor& self, IntArrayRef dim, bool keepdim = false);
Tensor frobenius_norm(const Tensor& self, IntArrayRef dim, bool keepdim = false);

// ---- functions of square matrices
/// The Hermitian positive semidefinite X with X X = self, of which the lower triangle is read.
/// Eigenvalues below 0 count as 0. The gradient, which is symmetric, needs positive eigenvalues.
Tensor linalg_matrix_sqrth(const Tensor& self);
/// Σ Aⁿ / n!
Tensor linalg_matrix_exp(const Tensor& self);

// ---- products
/// The product of all matrices in the order of least work; the first and last may be vectors.
Tensor linalg_multi_dot(TensorList tensors);
/// Σ x y along dim; x and y broadcast.
Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim = -1);
/// Cross product of 3-element vectors along dim; self and other broadcast and have the same number of dimensions.
Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim = -1);

// ---- other
/// The powers x⁰ … x^(N-1) as columns [*, n, N]; N defaults to n.
Tensor linalg_vander(const Tensor& x, optional<int64_t> N = nullopt);
/// The same for a vector, with descending powers unless `increasing`.
Tensor vander(const Tensor& x, optional<int64_t> N = nullopt, bool increasing = false);
/// The inverse of tensordot(self, ·, ind): the first `ind` sizes and the others have the same product.
Tensor linalg_tensorinv(const Tensor& self, int64_t ind = 2);
/// X with tensordot(self, X, X.dim()) = other; `dims` are moved to the end of self first.
Tensor linalg_tensorsolve(const Tensor& self, const Tensor& other, optional<IntArrayRef> dims = nullopt);

}  // namespace tandem
