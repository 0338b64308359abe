// Running sums and products along one dimension. All tensors are row-major, of one shape and dtype (float32,
// float64 or int64). `reverse` runs from the last element to the first. float32 accumulates in float64.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct ScanKernels {
  using Scan = void(const Tensor& out, const Tensor& in, int64_t dim, bool reverse);
  Kernel<"cumsum", Scan> cumsum;
  Kernel<"cumprod", Scan> cumprod;
  /// y_k = b_k + a_k y_(k-1), starting from 0.
  Kernel<"linear_recurrence",
         void(const Tensor& out, const Tensor& a, const Tensor& b, int64_t dim, bool reverse)>
      linear_recurrence;
};

}  // namespace tandem
