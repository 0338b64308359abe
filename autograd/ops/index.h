// Reads and writes by positions and masks: x.index({…}), x.index_put_({…}, value) and what is made of them.
//
// Basic indices (integers, slices, None, Ellipsis) give views; with masks or index tensors the result is a
// new tensor. Index tensors broadcast to one shape, whose dimensions stand where the indexed dimensions
// stood, or in front when those are not neighbours. Negative positions count from the end. Positions out of
// range throw IndexError that names index, dimension and size. Where positions repeat, writes count in their
// order, and additions (accumulate, and all gradients) are summed in that order on any number of threads.
#pragma once
#include "tandem/autograd/ops/indexing.h"
#include "tandem/core/small_vector.h"

namespace tandem {

/// indices[d] is for dimension d: int64, int32, or a mask (bool, uint8) over as many dimensions as it has;
/// undefined: the whole dimension.
Tensor index(const Tensor& self, TensorList indices);
/// A copy of self with `values` (broadcast) written, or with `accumulate` added, at those positions.
Tensor index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate = false);

/// A copy of self with source[…, i, …] at index[i] along `dim`.
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
/// A copy of self with `value` at every index[i] along `dim`.
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value);
/// A copy of self (broadcast with mask) in which elements where mask (bool) is true are replaced by those of
/// source, in row-major order.
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source);
/// The elements, in row-major order, where mask (bool, broadcast with self) is true.
Tensor masked_select(const Tensor& self, const Tensor& mask);
/// Elements of self seen as one row, in index's shape.
Tensor take(const Tensor& self, const Tensor& index);
/// int64 [count, rank of self]: the positions of elements that are not 0, in row-major order.
Tensor nonzero(const Tensor& self);
Tensor argwhere(const Tensor& self);

namespace autograd {
/// Advanced indices of a tensor, one for each dimension (undefined: the whole dimension), masks resolved.
struct AdvancedIndex {
  const char* operation = "index";
  SmallVector<Tensor, 4> indices;
  Dims origin;       ///< dimension numbers for error texts
  bool wrap = true;  ///< negative positions count from the end
};
Tensor index_read(const Tensor& self, const AdvancedIndex& at);
Tensor index_write(const Tensor& self, const AdvancedIndex& at, const Tensor& values, bool accumulate);
Tensor& index_write_(Tensor& self, const AdvancedIndex& at, const Tensor& values, bool accumulate);
/// Along one dimension.
AdvancedIndex along(const char* operation, const Tensor& self, int64_t dim, const Tensor& index, bool wrap);
}  // namespace autograd

}  // namespace tandem
