// Shared code of the operations on batches of matrices. Internal to their sources.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// Throw Error unless a is a tensor of matrices, or of square matrices, of float32, float64, complex64 or complex128.
void check_matrices(const char* operation, const Tensor& a);
void check_square(const char* operation, const Tensor& a);
/// The sizes before the last two.
Dims batch_sizes(const Tensor& a);
/// [batch, m, n] and [batch, n].
Dims matrix_sizes(IntArrayRef batch, int64_t m, int64_t n);
Dims vector_sizes(IntArrayRef batch, int64_t n);
/// A row-major tensor of a's dtype and device, or of the dtype of its parts.
Tensor empty_like_of(const Tensor& a, IntArrayRef sizes);
Tensor empty_real_like_of(const Tensor& a, IntArrayRef sizes);
/// One zero of int32 per matrix of a.
Tensor no_info(const Tensor& a);
/// Throws LinAlgError for the first matrix whose info is not 0: "OPERATION: (Batch element 2): " and the text of
/// `reason`, in which % stands for the info.
void check_info(const char* operation, const Tensor& info, const char* reason);
/// Throws Error if a loss depends on the phases of vectors that are only defined up to a factor exp(i phi): phases are
/// its derivatives by them.
void check_phases(const char* operation, const char* vectors, const Tensor& phases);
/// The identity [n, n] (or its first columns, [n, m]) in a's dtype and on its device.
Tensor identity(const Tensor& a, int64_t n, int64_t m = -1);

/// From the pivots of an LU decomposition of m rows: row i of Pᵀ A is row permutation[i] of A. int64 [batch, m].
Tensor permutation_of(const Tensor& pivots, int64_t m);
Tensor inverse_permutation(const Tensor& permutation);
/// Row i of the result is row permutation[i] of x; the batch of the permutation expands to x's.
Tensor permute_rows(const Tensor& x, const Tensor& permutation);

/// a x = b or aᴴ x = b from the decomposition of a; batches broadcast.
Tensor solve_with_lu(const Tensor& lu, const Tensor& permutation, const Tensor& b, bool adjoint);
/// The decomposition without history.
struct LuFactors {
  Tensor lu, pivots, info;
};
LuFactors lu_factors(const Tensor& a);

}  // namespace tandem::autograd
