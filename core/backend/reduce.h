// Reductions. `mask` has a bit for every reduced dimension of `in`; `out` has size 1 in those dimensions and
// any strides. An empty reduction produces the identity (0, 1, lowest, highest).
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct ReduceKernels {
  using Fold = void(const Tensor& out, const Tensor& in, uint32_t mask);
  /// float32 and float64 keep their dtype; integers and bool produce int64.
  Kernel<"sum", Fold> sum;
  Kernel<"prod", Fold> prod;
  /// The sum divided by the number of reduced elements; float32 or float64.
  Kernel<"mean", Fold> mean;
  /// Any computed dtype, kept; NaN propagates.
  Kernel<"amax", Fold> amax;
  Kernel<"amin", Fold> amin;
  /// out is bool; in has any computed dtype.
  Kernel<"any", Fold> any;
  Kernel<"all", Fold> all;
  /// out is int64; in has any computed dtype.
  Kernel<"count_nonzero", Fold> count_nonzero;
  /// (Σ |x|^p)^(1/p); p = 0: the number of non-zero elements; p = ±inf: the largest, smallest |x|. float32 or
  /// float64.
  Kernel<"norm", void(const Tensor& out, const Tensor& in, uint32_t mask, double p)> norm;
  /// Σ (x - m)² / divisor, or its square root, where m is the mean and `mean` is m rounded, with out's shape
  /// and strides. float32 or float64.
  Kernel<"var", void(const Tensor& out, const Tensor& in, const Tensor& mean, uint32_t mask, double divisor, bool root)>
      squared_deviation;
  /// log Σ exp(x). `max` is the result of amax (0 if nothing is reduced), with out's shape and strides.
  Kernel<"logsumexp", void(const Tensor& out, const Tensor& in, const Tensor& max, uint32_t mask)> logsumexp;
  /// The largest (smallest) element along one dimension and the index of its first occurrence; NaN
  /// propagates. values has in's dtype (any computed one), indices is int64; both have the same shape and
  /// strides.
  using FoldIndex = void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim);
  Kernel<"max", FoldIndex, HalfCalls{.outputs = 2}> max_index;
  Kernel<"min", FoldIndex, HalfCalls{.outputs = 2}> min_index;
};

}  // namespace tandem
