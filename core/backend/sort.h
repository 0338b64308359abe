// Sorting along one dimension. `in` is row-major, of any computed dtype; values have its dtype, indices are
// int64; both row-major. NaN counts as larger than everything; equal elements keep their order, so that every
// result is determined.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct SortKernels {
  /// All of them, in order. Outputs of in's shape.
  Kernel<"sort",
         void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim, bool descending)>
      sort;
  /// The first k of that order; outputs have size k along `dim`.
  Kernel<"topk", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim, int64_t k,
                      bool largest)>
      topk;
  /// Number k (from 0) of the ascending order; outputs have size 1 along `dim`. nan_first: a NaN, if there is
  /// one, instead.
  Kernel<"kthvalue", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim,
                          int64_t k, bool nan_first)>
      kth;
};

}  // namespace tandem
