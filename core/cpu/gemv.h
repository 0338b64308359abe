// Matrix-vector product for float and double.
#pragma once
#include <cstdint>

namespace tandem::cpu {

/// y = alpha * M * x + beta * y, with M rows x columns; beta == 0 does not read y.
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
};

template <class T>
void gemv(const GemvArgs<T>& args);

}  // namespace tandem::cpu
