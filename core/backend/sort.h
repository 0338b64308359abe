// Sorting along one dimension. `in` is row-major, of any computed dtype. values has its dtype, indices is
// int64; both are row-major. NaN compares greater than everything else; equal elements keep their order, so
// results are deterministic.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct SortKernels {
  /// The fully sorted order. Outputs have in's shape.
  Kernel<"sort", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim, bool descending),
         HalfCalls{.outputs = 2}>
      sort;
  /// The first k of that order; outputs have size k along `dim`.
  Kernel<"topk",
         void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim, int64_t k, bool largest),
         HalfCalls{.outputs = 2}>
      topk;
  /// The element at position k (from 0) in ascending order; outputs have size 1 along `dim`. `nan_first`: a
  /// NaN instead, if there is one.
  Kernel<"kthvalue",
         void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim, int64_t k, bool nan_first),
         HalfCalls{.outputs = 2}>
      kth;
};

}  // namespace tandem
