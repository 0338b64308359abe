// Matrices in the forms that BLAS takes: row-major or its transpose, with a leading dimension.
#pragma once
#include <algorithm>

#include "tandem/core/tensor.h"

namespace tandem::cuda_impl {

struct MatrixLayout {
  bool dense = false;  ///< false: neither form, so a copy is needed
  bool transposed = false;
  int64_t ld = 1;
};

/// A row-major matrix has its rows `ld` >= columns elements apart and a column stride of 1. A single row may
/// have any distance, a single column any stride.
inline MatrixLayout matrix_layout(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  const auto row_major = [](int64_t r, int64_t c, int64_t to_row, int64_t to_column, int64_t& ld) {
    ld = r > 1 ? to_row : std::max<int64_t>(1, c);
    return (c <= 1 || to_column == 1) && ld >= std::max<int64_t>(1, c);
  };
  MatrixLayout out;
  if (row_major(rows, columns, row_stride, column_stride, out.ld)) {
    out.dense = true;
  } else if (row_major(columns, rows, column_stride, row_stride, out.ld)) {
    out.dense = out.transposed = true;
  }
  return out;
}

/// out = alpha a b + beta out for integers, modulo 2^bits. Strides of all three are in elements: batch, row,
/// column.
void integer_matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha);

/// The same for one matrix of a floating point dtype by cuBLAS. The rows of out may be further apart.
void blas_matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha);

/// Whether cuBLAS needs aligned rows for the product, and it is large enough to give them to it.
bool aligned_matmul_applies(const Tensor& out, const Tensor& a, const Tensor& b);
/// The product of matrices of a half type with at least 8 columns in out, computed with aligned rows.
void aligned_matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha);

bool small_matmul_applies(const Tensor& out, int64_t inner);
/// A product of float32 matrices with any strides in one small kernel, which can add a bias to each row of out.
void small_matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha,
                  const Tensor& bias = {});

}  // namespace tandem::cuda_impl
