// Products of a matrix with one or a few vectors, for float and double.
#pragma once
#include <cstdint>

namespace tandem::cpu {

inline constexpr int64_t kMaxVectors = 4;

/// y = alpha * M * x + beta * y for each of the vectors, with M rows x columns; beta == 0 does not read y. The matrix
/// is read once from memory, so a few vectors take hardly longer than one.
template <class T>
struct GemvArgs {
  int64_t rows, columns;
  const T* matrix;
  int64_t ld;
  bool transposed;  // M is stored columns x rows
  const T* x;
  int64_t stride_x;
  T* y;
  int64_t stride_y;
  T alpha, beta;
  int64_t vectors = 1;             // at most kMaxVectors
  int64_t next_x = 0, next_y = 0;  // elements between the vectors
};

template <class T>
void gemv(const GemvArgs<T>& args);

}  // namespace tandem::cpu
