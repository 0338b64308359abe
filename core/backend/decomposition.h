// Decompositions of matrices, and solutions with triangular factors. All tensors are row-major and of one dtype,
// float32, float64, complex64 or complex128, except that eigenvalues of eigh and singular values are real; the last two
// dimensions are a matrix with at least one element, the others are the batch, the same for all arguments. pivots and
// info are int32; info has one element per matrix, 0 for success. ᴴ is the conjugate transpose,
// for real matrices the transpose.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct DecompositionKernels {
  /// P L U = a [m, n] with partial pivoting; lu has the shape of a, with U on and above the diagonal and L below
  /// it. pivots [k], k = min(m, n): row i was exchanged with row pivots[i] - 1. info: 1 + the position of the first
  /// pivot that is 0.
  Kernel<"lu_factor", void(const Tensor& lu, const Tensor& pivots, const Tensor& info, const Tensor& a)> lu_factor;
  /// l lᴴ = a; reads the lower triangle of a, and l is 0 above its diagonal. info: the order of the first leading
  /// minor that is not positive; l is then not meaningful.
  Kernel<"cholesky", void(const Tensor& l, const Tensor& info, const Tensor& a)> cholesky;
  /// The reflectors of a QR decomposition as LAPACK's geqrf stores them: qr has the shape of a, tau [k].
  Kernel<"geqrf", void(const Tensor& qr, const Tensor& tau, const Tensor& a)> geqrf;
  /// The first columns of H₁ H₂ … Hₖ, as many as q [m, c] has: the reflectors are the columns of a [m, n], n >= k,
  /// below its diagonal, and tau [k].
  Kernel<"householder_product", void(const Tensor& q, const Tensor& a, const Tensor& tau)> householder_product;
  /// Ascending eigenvalues [n] and, if defined, the eigenvectors as columns [n, n]; reads the lower triangle of a.
  /// info: 1 if a is not finite or the iteration does not converge.
  Kernel<"eigh", void(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a)> eigh;
  /// Eigenvalues [n] and, if defined, the eigenvectors as columns [n, n], of length 1 and with a real largest element;
  /// both complex. info as in eigh.
  Kernel<"eig", void(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a)> eig;
  /// Singular values [k], descending, and, if defined, u [m, k or m] and vh [k or n, n]. info as in eigh.
  Kernel<"svd", void(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& info, const Tensor& a)> svd;
  /// L D Lᵀ = a, or L D Lᴴ = a if `hermitian`, with the symmetric pivoting of Bunch and Kaufman, as LAPACK's sytrf and
  /// hetrf store it for a lower triangle, the only one that is read: ld holds D (blocks of 1 or 2 rows) and L below it,
  /// 0 above. pivots [n]: rows and columns i were exchanged with pivots[i] - 1; or, for both rows of a block of 2,
  /// those of its second row with -pivots[i] - 1. info: 1 + the position of the first block of 1 that is 0.
  Kernel<"ldl_factor",
         void(const Tensor& ld, const Tensor& pivots, const Tensor& info, const Tensor& a, bool hermitian)>
      ldl_factor;
  /// a x = b from the results of ldl_factor; b and x [n, k]. The pivots are between -n and n, and not 0.
  Kernel<"ldl_solve", void(const Tensor& x, const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian)>
      ldl_solve;
  /// a x = b for a triangular [n, n] and x and b [n, k]. Reads one triangle, and not its diagonal if `unit`.
  Kernel<"solve_triangular", void(const Tensor& x, const Tensor& a, const Tensor& b, bool upper, bool unit)>
      solve_triangular;
};

}  // namespace tandem
