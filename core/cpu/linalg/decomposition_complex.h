// Batches of complex matrices for the decompositions: all are computed in complex128, because Eigen's templates take
// long to compile and are large. Include it only in decomposition*.cpp.
#pragma once
#include <complex>

#include "tandem/core/cpu/linalg/decomposition.h"

namespace tandem::cpu {

using ComplexMatrix = ColumnMatrix<std::complex<double>>;
using ComplexVector = Vector<std::complex<double>>;

/// Matrix or vector number i of a row-major complex tensor, and the other way round. store_reals()
/// writes to a real tensor.
ComplexMatrix load_matrix(const Tensor& t, int64_t i);
ComplexVector load_vector(const Tensor& t, int64_t i);
void store_matrix(const Tensor& t, int64_t i, const ComplexMatrix& matrix);
void store_vector(const Tensor& t, int64_t i, const ComplexVector& vector);
void store_reals(const Tensor& t, int64_t i, const Vector<double>& vector);

/// Calls body(i) for every matrix of a, as for_matrices() does.
template <class Body>
void for_complex_matrices(const Tensor& a, Body body) {
  check_reproducible("decompositions of complex matrices", kEigenReason);
  const int64_t m = a.size(-2), n = a.size(-1), count = a.numel() / (m * n);
  const int64_t work = std::max<int64_t>(1, m * n * std::min(m, n));
  parallel_for_each(count, std::max<int64_t>(1, 4096 / work), body);
}

/// x = H₁ … Hₖ x, where Hᵢ = I - factors(i) vᵢ vᵢᴴ, and vᵢ is 1 on the diagonal of `vectors` and below it as given.
void apply_reflectors(const ComplexMatrix& vectors, const ComplexVector& factors, ComplexMatrix& x);
/// Defined in decomposition_spectral.cpp: the decompositions of a real matrix, of which eigh reads the lower triangle.
/// Unwanted results are not written; `wanted` has flags such as Eigen's ComputeThinU. False if the iteration does not
/// converge.
bool real_eigh(const ColumnMatrix<double>& a, bool with_vectors, Vector<double>& values, ColumnMatrix<double>& vectors);
bool real_svd(const ColumnMatrix<double>& a, unsigned wanted, Vector<double>& s, ColumnMatrix<double>& u,
              ColumnMatrix<double>& v);

// The kernels of core/backend/decomposition.h for complex tensors.
void complex_lu_factor(const Tensor& lu, const Tensor& pivots, const Tensor& info, const Tensor& a);
void complex_cholesky(const Tensor& l, const Tensor& info, const Tensor& a);
void complex_geqrf(const Tensor& qr, const Tensor& tau, const Tensor& a);
void complex_householder_product(const Tensor& q, const Tensor& a, const Tensor& tau);
void complex_solve_triangular(const Tensor& x, const Tensor& a, const Tensor& b, bool upper, bool unit);
void complex_eigh(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a);
void complex_svd(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& info, const Tensor& a);

}  // namespace tandem::cpu
