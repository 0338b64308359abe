// Reads and writes at positions and masks: x.index({…}), x.index_put_({…}, value) and related functions.
//
// Basic indices (integers, slices, None, Ellipsis) produce views; with masks or index tensors the result is a
// new tensor. Index tensors broadcast to one shape. Its dimensions replace the indexed dimensions, or come
// first when those are not adjacent. Negative positions count from the end. Positions out of range throw
// IndexError that names index, dimension and size. For repeated positions, writes happen in order, and
// additions (accumulate, and all gradients) are summed in that order on any number of threads.
#pragma once
#include "tandem/autograd/ops/index/indexing.h"
#include "tandem/core/base/small_vector.h"

namespace tandem {

/// indices[d] applies to dimension d: int64, int32, or a mask (bool, uint8) that covers as many dimensions as
/// it has. Undefined: the whole dimension.
Tensor index(const Tensor& self, TensorList indices);
/// A copy of self with `values` (broadcast) written, or added with `accumulate`, at those positions.
Tensor index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate = false);

/// A copy of self with source[…, i, …] written to index[i] along `dim`.
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
/// A copy of self with `value` written to every index[i] along `dim`.
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value);
/// A copy of self (broadcast with mask) with the elements where mask (bool) is true replaced by elements of
/// source, in row-major order.
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source);
/// The elements where mask (bool, broadcast with self) is true, in row-major order.
Tensor masked_select(const Tensor& self, const Tensor& mask);
/// Elements of the flattened self at `index`, in the shape of index.
Tensor take(const Tensor& self, const Tensor& index);
/// int64 [count, rank of self]: the positions of nonzero elements, in row-major order.
Tensor nonzero(const Tensor& self);
Tensor argwhere(const Tensor& self);

namespace autograd {
/// Advanced indices of a tensor, one per dimension (undefined: the whole dimension), with masks resolved to
/// positions.
struct AdvancedIndex {
  const char* operation = "index";
  SmallVector<Tensor, 4> indices;
  Dims origin;       ///< dimension numbers for error messages
  bool wrap = true;  ///< negative positions count from the end
};
Tensor index_read(const Tensor& self, const AdvancedIndex& at);
Tensor index_write(const Tensor& self, const AdvancedIndex& at, const Tensor& values, bool accumulate);
Tensor& index_write_(const Tensor& self, const AdvancedIndex& at, const Tensor& values, bool accumulate);
/// Indices along one dimension.
AdvancedIndex along(const char* operation, const Tensor& self, int64_t dim, const Tensor& index, bool wrap);
}  // namespace autograd

}  // namespace tandem
