// Reductions over all, one or several dimensions. An empty list of dimensions means all of them.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Integers and bool are summed as int64 unless `dtype` says otherwise.
Tensor sum(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor sum(const Tensor& self, IntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt);

namespace autograd {
/// `sizes` with the dimensions of `mask` set to 1, or left out.
Dims reduced_sizes(IntArrayRef sizes, uint32_t mask, bool keepdim);
/// `t` without the size-1 dimensions of `mask` unless keepdim: the last step of a reduction. Not recorded.
Tensor drop_dims(const Tensor& t, uint32_t mask, bool keepdim);
/// A gradient of the reduced shape as it looks with keepdim: expandable to the input's shape. Differentiable.
Tensor restore_dims(const Tensor& grad, IntArrayRef input_sizes, uint32_t mask, bool keepdim);
}  // namespace autograd

}  // namespace tandem
