// Reductions. `mask` has a bit for every reduced dimension of `in`; `out` has those dimensions with size 1
// and any strides. Folding nothing gives the identity (0, 1, lowest, highest).
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct ReduceKernels {
  using Fold = void(const Tensor& out, const Tensor& in, uint32_t mask);
  /// float32 or float64 to the same; integers and bool to int64.
  Kernel<"sum", Fold> sum;
  Kernel<"prod", Fold> prod;
  /// Sum divided by the number of reduced elements; float32 or float64.
  Kernel<"mean", Fold> mean;
  /// One dtype, any computed one; NaN wins.
  Kernel<"amax", Fold> amax;
  Kernel<"amin", Fold> amin;
  /// out bool, in any computed dtype.
  Kernel<"any", Fold> any;
  Kernel<"all", Fold> all;
  /// out int64, in any computed dtype.
  Kernel<"count_nonzero", Fold> count_nonzero;
  /// (Σ |x|^p)^(1/p); p = 0: how many are not 0; p = ±inf: largest, smallest |x|. float32 or float64.
  Kernel<"norm", void(const Tensor& out, const Tensor& in, uint32_t mask, double p)> norm;
  /// Σ (x - m)² / divisor, or its square root, where m is the mean and `mean` m rounded, of out's shape and
  /// strides. float32 or float64.
  Kernel<"var", void(const Tensor& out, const Tensor& in, const Tensor& mean, uint32_t mask, double divisor,
                     bool root)>
      squared_deviation;
  /// log Σ exp(x); max: what amax gives (0 where nothing is reduced), of out's shape and strides.
  Kernel<"logsumexp", void(const Tensor& out, const Tensor& in, const Tensor& max, uint32_t mask)> logsumexp;
  /// The largest (smallest) along one dimension and where it stands first; NaN wins. values of in's dtype,
  /// any computed one, indices int64, of the same shape and strides.
  using FoldIndex = void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim);
  Kernel<"max", FoldIndex> max_index;
  Kernel<"min", FoldIndex> min_index;
};

}  // namespace tandem
