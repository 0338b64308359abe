// Matrix products with cuBLAS. cuBLAS is column-major: a row-major C = A B is Cᵀ = Bᵀ Aᵀ for cuBLAS, so the
// operands are swapped here and nothing is transposed in memory. A matrix that is neither row-major nor
// column-major is copied first. float32 uses full float32 precision unless the math mode allows TF32; the half types
// are multiplied by tensor cores, which add in float32.
#include <climits>

#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/backend/linalg.h"
#include "tandem/core/global_context.h"
#include "tandem/cuda/context.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/linear_plan.h"
#include "tandem/cuda/ops/matmul_matrix.h"
#include "tandem/cuda/strict/matmul.h"
#include "tandem/cuda/strict/strict.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

// Larger batches are split: this is the limit of a grid's z dimension.
constexpr int64_t kMaxBatches = 65535;

struct Matrix {
  Tensor tensor;  // keeps a copy alive
  MatrixLayout layout;
  int64_t batch_stride = 0;
};

Matrix matrix(const Tensor& t) {
  const bool batched = t.dim() == 3;
  const int64_t rows = t.size(-2), columns = t.size(-1);
  const MatrixLayout layout = matrix_layout(rows, columns, t.stride(-2), t.stride(-1));
  if (layout.dense) return {t, layout, batched && t.size(0) > 1 ? t.stride(0) : 0};
  return {row_major_copy(t), {true, false, std::max<int64_t>(1, columns)}, batched ? rows * columns : 0};
}

int blas_int(const char* operation, int64_t value, const Tensor& a, const Tensor& b) {
  check(value <= INT_MAX, operation, ": cuBLAS supports sizes and row lengths up to ", INT_MAX, ", got ", value, "\n  ",
        a, "\n  ", b);
  return static_cast<int>(value);
}

// alpha and beta in the type of the sums.
union Factor {
  float single;
  double twice;
  Factor(ScalarType dtype, const Scalar& value) {
    if (dtype == kDouble)
      twice = value.to<double>();
    else
      single = value.to<float>();
  }
};

// Computes out [B, M, N] for `count` batches from `first` on.
void gemm(const Tensor& out, const Matrix& a, const Matrix& b, const Scalar& beta, const Scalar& alpha, int64_t first,
          int64_t count) {
  Context& c = context(out.device());
  if (!may_start(c, "matmul")) return;
  const ScalarType dtype = out.dtype();
  const cudaDataType type = data_type(dtype);
  const cublasComputeType_t compute = compute_type(dtype, globalContext().allowTF32CuBLAS());
  const auto number = [&](int64_t value) { return blas_int("matmul", value, a.tensor, b.tensor); };
  const int m = number(out.size(-2)), n = number(out.size(-1)), k = number(a.tensor.size(-1));
  const int lda = number(a.layout.ld), ldb = number(b.layout.ld);
  const int ldc = number(matrix_layout(m, n, out.stride(-2), out.stride(-1)).ld);
  const auto operation = [](const Matrix& x) { return x.layout.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto at = [&](const Tensor& t, int64_t batch_stride) {
    return static_cast<char*>(t.data_ptr()) + first * batch_stride * t.element_size();
  };
  const int64_t out_stride = out.size(-2) * out.size(-1);
  const Factor scale(dtype, alpha), keep(dtype, beta);
  cublasHandle_t handle = c.blas();
  if (count == 1)
    ensure(cublasGemmEx(handle, operation(b), operation(a), n, m, k, &scale, at(b.tensor, b.batch_stride), type, ldb,
                        at(a.tensor, a.batch_stride), type, lda, &keep, at(out, out_stride), type, ldc, compute,
                        CUBLAS_GEMM_DEFAULT),
           "cublasGemmEx");
  else
    ensure(cublasGemmStridedBatchedEx(handle, operation(b), operation(a), n, m, k, &scale, at(b.tensor, b.batch_stride),
                                      type, ldb, b.batch_stride, at(a.tensor, a.batch_stride), type, lda,
                                      a.batch_stride, &keep, at(out, out_stride), type, ldc, out_stride,
                                      static_cast<int>(count), compute, CUBLAS_GEMM_DEFAULT),
           "cublasGemmStridedBatchedEx");
  note_launch("matmul");
  if (sync_after_launch()) sync_and_check(c, "matmul");
}

// Empty sum: out becomes beta out.
void scale_by(const Tensor& out, const Scalar& beta) {
  if (beta.equal(0)) return fill_raw(out, 0);
  if (!beta.equal(1)) binary_kernels.value.get<ops::Mul>()(out, out, beta, 1);
}

void matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  context(out.device());
  if (out.numel() == 0) return;
  if (is_strict() && is_floating_point(out.dtype())) return strict::matmul(out, a, b, beta, alpha);
  if (a.size(-1) == 0) return scale_by(out, beta);
  if (!is_floating_point(out.dtype())) return integer_matmul(out, a, b, beta, alpha);
  if (small_matmul_applies(out, a.size(-1))) return small_matmul(out, a, b, beta, alpha);
  if (aligned_matmul_applies(out, a, b)) return aligned_matmul(out, a, b, beta, alpha);
  const Matrix x = matrix(a), y = matrix(b);
  const int64_t batches = out.dim() == 3 ? out.size(0) : 1;
  for (int64_t first = 0; first < batches; first += kMaxBatches)
    gemm(out, x, y, beta, alpha, first, std::min(kMaxBatches, batches - first));
}

// cuBLASLt adds the bias if it can; otherwise out is initialised with the bias.
void linear(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Context& c = context(out.device());
  if (out.numel() == 0) return;
  const Tensor transposed =
      alias(weight, {weight.size(1), weight.size(0)}, {weight.stride(1), weight.stride(0)}, weight.storage_offset());
  if (!bias.defined()) return matmul(out, x, transposed, 0, 1);
  if (is_strict() && is_floating_point(out.dtype())) return strict::matmul(out, x, transposed, 1, 1, bias);
  if (x.size(1) != 0 && small_matmul_applies(out, x.size(1))) return small_matmul(out, x, transposed, 0, 1, bias);
  if (x.size(1) != 0 && is_floating_point(out.dtype()) && !aligned_matmul_applies(out, x, transposed)) {
    const Matrix a = matrix(x), b = matrix(weight);
    for (const int64_t size : {out.size(0), out.size(1), x.size(1), a.layout.ld, b.layout.ld})
      blas_int("linear", size, x, weight);
    if (linear_with_bias(c, {out, a.tensor, b.tensor, bias, a.layout, b.layout})) return;
  }
  copy_raw(out, alias(bias, out.sizes(), {0, 1}, bias.storage_offset()));
  matmul(out, x, transposed, 1, 1);
}

}  // namespace

void blas_matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  gemm(out, matrix(a), matrix(b), beta, alpha, 0, 1);
}

constinit const LinalgKernels linalg_kernels{.matmul = {matmul, kTakesHalf},
                                             .linear = {linear, kTakesHalf},
                                             .quantized_linear = strict::quantized_linear,
                                             .row_bytes = 16};

}  // namespace tandem::cuda_impl
