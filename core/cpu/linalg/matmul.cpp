// Matrix products of tensors: strides become gemm's leading dimensions and transpositions. A matrix that is
// neither row-major nor column-major is copied first.
#include <algorithm>

#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/backend/linalg.h"
#include "tandem/core/cpu/linalg/gemm.h"
#include "tandem/core/cpu/linalg/gemm_half.h"
#include "tandem/core/cpu/linalg/quantized_linear.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

// A matrix in the form that gemm takes.
struct Matrix {
  Tensor tensor;  // keeps a copy alive
  int64_t ld = 1;
  bool transposed = false;
  int64_t batch_stride = 0;
};

// Whether the matrix is row-major with rows `ld` apart. For a single row any distance is valid, for a single
// column any column stride.
bool row_major(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, int64_t& ld) {
  ld = rows > 1 ? row_stride : std::max<int64_t>(1, columns);
  return (columns <= 1 || column_stride == 1) && ld >= std::max<int64_t>(1, columns);
}

Matrix matrix(const Tensor& t) {
  const int64_t rows = t.size(-2), columns = t.size(-1), batch = t.dim() == 3 && t.size(0) > 1 ? t.stride(0) : 0;
  Matrix m{t, 1, false, batch};
  if (row_major(rows, columns, t.stride(-2), t.stride(-1), m.ld)) return m;
  m.transposed = true;
  if (row_major(columns, rows, t.stride(-1), t.stride(-2), m.ld)) return m;
  return {row_major_copy(t), std::max<int64_t>(1, columns), false, t.dim() == 3 ? rows * columns : 0};
}

template <class T, class A>
GemmArgs<T, A> gemm_args(const Tensor& out, const Matrix& a, const Matrix& b, const Scalar& beta, const Scalar& alpha) {
  const int64_t m = out.size(-2), n = out.size(-1);
  return {.m = m,
          .n = n,
          .k = a.tensor.size(-1),
          .a = a.tensor.ptr<T>(),
          .lda = a.ld,
          .trans_a = a.transposed,
          .b = b.tensor.ptr<T>(),
          .ldb = b.ld,
          .trans_b = b.transposed,
          .c = out.ptr<T>(),
          .ldc = std::max<int64_t>(1, n),
          .alpha = alpha.to<A>(),
          .beta = beta.to<A>(),
          .batch = out.dim() == 3 ? out.size(0) : 1,
          .batch_stride_a = a.batch_stride,
          .batch_stride_b = b.batch_stride,
          .batch_stride_c = m * n};
}

void matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  const Matrix x = matrix(a), y = matrix(b);
  if (isReducedFloatingType(out.dtype()))
    return half_gemm({gemm_args<uint16_t, float>(out, x, y, beta, alpha), out.scalar_type()});
  dispatch(out.dtype(), NumericTypes{}, "matmul",
           [&]<class T>(Type<T>) { gemm(gemm_args<T, T>(out, x, y, beta, alpha)); });
}

void linear(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor transposed =
      alias(weight, {weight.size(1), weight.size(0)}, {weight.stride(1), weight.stride(0)}, weight.storage_offset());
  if (!bias.defined()) return matmul(out, x, transposed, 0, 1);
  const int64_t m = out.size(0), n = out.size(1);
  dispatch(out.dtype(), concat_t<NumericTypes, TypeList<Half, BFloat16>>{}, "linear", [&]<class T>(Type<T>) {
    const T* row = bias.ptr<T>();
    T* o = out.ptr<T>();
    parallel_for_each(m, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, n)),
                      [=](int64_t i) { std::copy_n(row, n, o + i * n); });
  });
  matmul(out, x, transposed, 1, 1);
}

}  // namespace

constinit const LinalgKernels linalg_kernels{
    .matmul = {matmul, kTakesHalf}, .linear = {linear, kTakesHalf}, .quantized_linear = quantized_linear};

}  // namespace tandem::cpu
