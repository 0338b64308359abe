// Running sums, products and extremes along one dimension. All tensors are row-major, of one shape and dtype (float32,
// float64 or int64). `reverse` runs from the last element to the first. float32 accumulates in float64.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct ScanKernels {
  using Scan = void(const Tensor& out, const Tensor& in, int64_t dim, bool reverse);
  Kernel<"cumsum", Scan> cumsum;
  Kernel<"cumprod", Scan> cumprod;
  /// y_k = b_k + a_k y_(k-1), starting from 0.
  Kernel<"linear_recurrence", void(const Tensor& out, const Tensor& a, const Tensor& b, int64_t dim, bool reverse)>
      linear_recurrence;
  /// y_k = log Σ exp(x_i), i <= k. Floating point.
  Kernel<"logcumsumexp", Scan> logcumsumexp;
  /// out (int64): the position of the largest (smallest) element so far, the last of equal ones; NaN is larger and
  /// smaller than every number. `in` has any computed dtype.
  Kernel<"cummax", void(const Tensor& out, const Tensor& in, int64_t dim, bool smallest)> cummax;
};

}  // namespace tandem
