// Reductions over all, one or several dimensions. An empty list of dimensions means all of them; negative
// dimensions count from the end; keepdim leaves the reduced ones with size 1. Throws Error on a repeated
// dimension, IndexError on one out of range.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Integers and bool are summed as int64 unless `dtype` says otherwise. The sum of nothing is 0.
Tensor sum(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor sum(const Tensor& self, IntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt);
/// Floating point, or with a floating point `dtype`. The mean of nothing is NaN.
Tensor mean(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor mean(const Tensor& self, IntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt);

/// The largest (smallest) element; NaN wins. Gradients are shared evenly by equal elements. Throws Error for
/// an empty tensor.
Tensor max(const Tensor& self);
Tensor min(const Tensor& self);
/// Values and int64 indices along `dim`: of equal elements the first. The gradient goes to that one. Throws
/// Error when `dim` has size 0 and the result has elements.
std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim, bool keepdim = false);
std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor max(const Tensor& self, const Tensor& other);
Tensor min(const Tensor& self, const Tensor& other);
Tensor amax(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false);
Tensor amin(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false);
/// The first index of the extreme, int64: along `dim`, or in the flattened tensor.
Tensor argmax(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor argmin(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);

namespace autograd {
/// `sizes` with the dimensions of `mask` set to 1, or left out.
Dims reduced_sizes(IntArrayRef sizes, uint32_t mask, bool keepdim);
/// `t` without the size-1 dimensions of `mask` unless keepdim: the last step of a reduction. Not recorded.
Tensor drop_dims(const Tensor& t, uint32_t mask, bool keepdim);
/// A tensor of the reduced shape as it looks with keepdim: expandable to the input's shape. Differentiable.
Tensor restore_dims(const Tensor& reduced, IntArrayRef input_sizes, uint32_t mask, bool keepdim);
/// Product of the sizes in `mask`.
int64_t reduced_numel(IntArrayRef sizes, uint32_t mask);
}  // namespace autograd

}  // namespace tandem
