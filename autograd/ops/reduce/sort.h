// Sorting and selection along one dimension. NaN counts as larger than every other value; sorting is always
// stable, even if not requested. Gradients go to the selected elements.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// (values, int64 indices), with the shape of self.
std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim = -1, bool descending = false);
std::tuple<Tensor, Tensor> sort(const Tensor& self, optional<bool> stable, int64_t dim = -1, bool descending = false);
Tensor argsort(const Tensor& self, int64_t dim = -1, bool descending = false);
template <std::same_as<bool> Stable>
Tensor argsort(const Tensor& self, Stable stable, int64_t dim = -1, bool descending = false) {
  return self.argsort(stable, dim, descending);
}
/// The values, sorted along the first dimension.
Tensor msort(const Tensor& self);
/// The k largest (smallest) elements in order: (values, indices) with k elements along `dim`. Throws Error
/// unless 0 <= k <= size.
std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim = -1, bool largest = true,
                                bool sorted = true);
/// The k-th smallest element, counting from 1. Throws Error unless 1 <= k <= size.
std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, int64_t k, int64_t dim = -1, bool keepdim = false);
/// The lower median; NaN if any element is NaN. median(self) of an empty tensor is NaN.
Tensor median(const Tensor& self);
std::tuple<Tensor, Tensor> median(const Tensor& self, int64_t dim, bool keepdim = false);
/// The number of occurrences of each of 0, 1, …, max(largest, minlength - 1): int64, or sums of `weights`
/// (float32, otherwise float64). self: 1-D non-negative integers.
Tensor bincount(const Tensor& self, const Tensor& weights = {}, int64_t minlength = 0);

}  // namespace tandem
