// Linear algebra on batches of matrices: the functions of torch.linalg and their older names. Matrices are the last two
// dimensions, those before are the batch; float32, float64, complex64, complex128. Xᴴ is the conjugate transpose.
//
// Wrong shapes and dtypes throw Error. A matrix that cannot be decomposed throws LinAlgError, which names its place in
// the batch; functions with the suffix _ex return `info` instead, int32 [batch], 0 for success. Decompositions of CUDA
// tensors are computed on the host.
#pragma once
#include <string_view>
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem {

// ---- decompositions
/// P L U = A with partial pivoting: LU [*, m, n] holds L below its diagonal and U; row i was exchanged with row
/// pivots[i] - 1, int32 [*, k], k = min(m, n). pivot = false throws NotImplementedError.
std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& A, bool pivot = true);
std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot = true, bool check_errors = false);
/// P [*, m, m], L [*, m, k], U [*, k, n].
std::tuple<Tensor, Tensor, Tensor> linalg_lu(const Tensor& A, bool pivot = true);
/// The same from the results of linalg_lu_factor; the parts that are not unpacked are empty.
std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data = true,
                                             bool unpack_pivots = true);
/// L with L Lᴴ = A (or U with Uᴴ U = A) for a Hermitian positive definite A, of which one triangle is read.
Tensor linalg_cholesky(const Tensor& self, bool upper = false);
std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& self, bool upper = false, bool check_errors = false);
/// P L D Lᵀ Pᵀ = A for symmetric matrices, P L D Lᴴ Pᵀ = A for Hermitian ones (`hermitian`); the lower triangle is
/// read. LD [*, n, n] and int32 pivots [*, n] are in the format of LAPACK's sytrf or hetrf. No gradient:
/// throws Error while recording.
std::tuple<Tensor, Tensor> linalg_ldl_factor(const Tensor& self, bool hermitian = false);
std::tuple<Tensor, Tensor, Tensor> linalg_ldl_factor_ex(const Tensor& self, bool hermitian = false,
                                                        bool check_errors = false);
/// A X = B from the results of linalg_ldl_factor; B [*, n, k], batches broadcast. No gradient: throws Error while
/// recording.
Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian = false);
/// U H = A, m >= n: U [*, m, n] with orthonormal columns, H [*, n, n] Hermitian and positive semidefinite. Gradients
/// need full rank.
std::tuple<Tensor, Tensor> linalg_polar(const Tensor& A);
/// Q R = A. mode: "reduced" (Q [*, m, k], R [*, k, n]), "complete" (Q [*, m, m], R [*, m, n]; no gradient if m > n),
/// "r" (Q is empty; no gradient).
std::tuple<Tensor, Tensor> linalg_qr(const Tensor& A, std::string_view mode = "reduced");
/// The reflectors and factors of LAPACK's geqrf. No gradient: throws Error while recording.
std::tuple<Tensor, Tensor> geqrf(const Tensor& self);
/// The first n columns of H₁ … Hₖ, Hᵢ = I - tauᵢ vᵢ vᵢᴴ, from the vectors below the diagonal of input [*, m, n],
/// m >= n.
Tensor linalg_householder_product(const Tensor& input, const Tensor& tau);
/// Q other, Qᴴ other (transpose), or with left = false other Q, other Qᴴ; Q [m, m] from geqrf's results.
Tensor ormqr(const Tensor& self, const Tensor& input2, const Tensor& input3, bool left = true, bool transpose = false);
/// Ascending real eigenvalues [*, n] and eigenvectors (columns) of Hermitian matrices; UPLO "L" or "U" is the triangle
/// that is read. Gradients need distinct eigenvalues, and a function that does not depend on the vectors' signs or
/// phases.
std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& self, std::string_view UPLO = "L");
Tensor linalg_eigvalsh(const Tensor& self, std::string_view UPLO = "L");
/// Eigenvalues [*, n], in no particular order, and eigenvectors (columns of length 1) of square matrices, real or
/// complex; the results are complex. Gradients need distinct eigenvalues, and a function that does not depend on the
/// phases of the vectors; otherwise backward throws Error.
std::tuple<Tensor, Tensor> linalg_eig(const Tensor& self);
Tensor linalg_eigvals(const Tensor& self);
/// U diag(S) Vh = A, S real and descending [*, k]. U [*, m, k] and Vh [*, k, n], or square with full_matrices; then the
/// added vectors have no gradient. `driver` is a choice of cuSOLVER and must not be given. Gradients as of linalg_eigh.
std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor& A, bool full_matrices = true,
                                              optional<std::string_view> driver = nullopt);
Tensor linalg_svdvals(const Tensor& A, optional<std::string_view> driver = nullopt);
/// U, S, V = Vhᴴ; without compute_uv, U and V are zeros.
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& self, bool some = true, bool compute_uv = true);

// ---- solutions; batches broadcast
/// A X = B, or X A = B with left = false. B is a batch of vectors if it has one dimension or A's shape without the
/// last.
Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left = true);
std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left = true,
                                           bool check_errors = false);
/// A triangular; the other triangle is not read, nor, with unitriangular, the diagonal.
Tensor linalg_solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left = true,
                               bool unitriangular = false);
/// The solution of A X = self, or Aᵀ X = self, and a copy of A.
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& self, const Tensor& A, bool upper = true,
                                            bool transpose = false, bool unitriangular = false);
Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left = true, bool adjoint = false);
Tensor lu_solve(const Tensor& self, const Tensor& LU_data, const Tensor& LU_pivots);
/// A X = self, or the inverse of A, from input2 (self) = the Cholesky factor of A.
Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper = false);
Tensor cholesky_inverse(const Tensor& self, bool upper = false);
Tensor linalg_inv(const Tensor& A);
std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors = false);
/// Least squares: solution (of least norm), residuals [*, k] (empty unless all matrices have full rank and m > n), rank
/// int64 [*] (empty for driver "gels") and singular values (empty unless the driver is "gelsd" or "gelss"). Singular
/// values below rcond times the largest count as 0; default: epsilon max(m, n).
std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& self, const Tensor& b,
                                                        optional<double> rcond = nullopt,
                                                        optional<std::string_view> driver = nullopt);
/// The pseudoinverse, from singular values (or eigenvalues, if hermitian) above max(atol, rtol times the largest).
/// Default rtol: epsilon max(m, n) if atol is 0 or not given.
Tensor linalg_pinv(const Tensor& self, const optional<Tensor>& atol = {}, const optional<Tensor>& rtol = {},
                   bool hermitian = false);
Tensor linalg_pinv(const Tensor& self, optional<double> atol, optional<double> rtol, bool hermitian = false);
Tensor linalg_pinv(const Tensor& self, double rcond, bool hermitian = false);
Tensor linalg_pinv(const Tensor& self, const Tensor& rcond, bool hermitian = false);

// ---- numbers of a matrix
/// [*]; 1 for a matrix without elements.
Tensor linalg_det(const Tensor& A);
/// The sign (det / |det|, 0 for a singular matrix) and the logarithm of the absolute value of the determinant.
std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A);
/// log(det A); NaN where a real determinant is negative.
Tensor logdet(const Tensor& self);
/// The number of singular values (or absolute eigenvalues, if hermitian) above the bound of linalg_pinv; int64 [*].
Tensor linalg_matrix_rank(const Tensor& input, const optional<Tensor>& atol = {}, const optional<Tensor>& rtol = {},
                          bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& self, optional<double> atol, optional<double> rtol, bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& self, double tol, bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& input, const Tensor& tol, bool hermitian = false);
/// |A| |A⁻¹| in a norm of linalg_matrix_norm; ∞ for singular matrices. Default: the norm 2.
Tensor linalg_cond(const Tensor& self, const optional<Scalar>& p = nullopt);
Tensor linalg_cond(const Tensor& self, std::string_view p);

}  // namespace tandem
