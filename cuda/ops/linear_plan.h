// x weightᵀ + bias in a single cuBLASLt kernel.
#pragma once
#include "tandem/cuda/context.h"
#include "tandem/cuda/ops/matmul_matrix.h"

namespace tandem::cuda_impl {

struct LinearArguments {
  const Tensor &out, &x, &weight, &bias;
  MatrixLayout x_layout, weight_layout;
};

/// out [M, N] = x [M, K] weightᵀ [K, N] + bias [N]; float32 or float64, no size may be 0. Returns false,
/// without writing out, when cuBLASLt has no algorithm or fails.
bool linear_with_bias(Context& c, const LinearArguments& arguments);

}  // namespace tandem::cuda_impl
