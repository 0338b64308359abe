// x weightᵀ + bias in a single cuBLASLt kernel.
#pragma once
#include "tandem/cuda/context.h"
#include "tandem/cuda/ops/matmul_matrix.h"

namespace tandem::cuda_impl {

/// cuBLAS's name of a floating point dtype.
inline cudaDataType data_type(ScalarType dtype) {
  switch (dtype) {
    case kHalf:
      return CUDA_R_16F;
    case kBFloat16:
      return CUDA_R_16BF;
    case kDouble:
      return CUDA_R_64F;
    case kFloat:
      return CUDA_R_32F;
    default:
      unsupported_dtype("matmul", dtype);
  }
}
/// Products are added in float64 for float64, in float32 for everything else.
constexpr cublasComputeType_t compute_type(ScalarType dtype, bool tf32) {
  if (dtype == kDouble) return CUBLAS_COMPUTE_64F;
  return tf32 && dtype == kFloat ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

struct LinearArguments {
  const Tensor &out, &x, &weight, &bias;
  MatrixLayout x_layout, weight_layout;
};

/// out [M, N] = x [M, K] weightᵀ [K, N] + bias [N]; of any floating point dtype, no size may be 0. Returns false,
/// without writing out, when cuBLASLt has no algorithm or fails.
bool linear_with_bias(Context& c, const LinearArguments& arguments);

}  // namespace tandem::cuda_impl
