// Products of a matrix with one or a few vectors, for float and double. The elements of the matrix may be of a half type.
// Sums have the order of sum_order.h.
#pragma once
#include <cstdint>

namespace tandem::cpu {

inline constexpr int64_t kMaxVectors = 4;

/// Whether C = A B with m rows of A is best computed as m vectors: packing B [k, n] would take longer than multiplying it.
/// Copying rows of a small one that is not transposed does not.
inline bool few_rows_fit(int64_t m, int64_t n, int64_t k, bool trans_b) {
  constexpr int64_t kManyElements = 1 << 16;
  return m == 1 || (m <= kMaxVectors && (trans_b || n * k >= kManyElements));
}

/// y = alpha * M * x + beta * y for each of the vectors, with M rows x columns; beta == 0 does not read y. The matrix
/// is read once from memory, so a few vectors take hardly longer than one.
template <class T, class M = T>
struct GemvArgs {
  int64_t rows, columns;
  const M* matrix;
  int64_t ld;
  bool transposed;        // M is stored columns x rows
  bool in_lanes = false;  // each row is summed in lanes; for the only column of a gemm. Not if transposed
  const T* x;
  int64_t stride_x;
  T* y;
  int64_t stride_y;
  T alpha, beta;
  int64_t vectors = 1;             // at most kMaxVectors
  int64_t next_x = 0, next_y = 0;  // elements between the vectors
};

/// T and M: float or double, or T = float and M a half type.
template <class T, class M = T>
void gemv(const GemvArgs<T, M>& args);

}  // namespace tandem::cpu
