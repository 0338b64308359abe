// Views: other shapes of the same memory. Writing through a view writes the base; both stay on the tape.
// Dimensions and indices may be negative and then count from the end. Throws Error (IndexError for a
// dimension or an index out of range) that names the operation and the tensor.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The same elements in another shape; one size may be -1. Throws Error when the strides do not allow it;
/// reshape copies in that case.
Tensor view(const Tensor& self, IntArrayRef size);
/// The same bytes as elements of another type; the last dimension grows or shrinks with the element size. No
/// gradient unless the type is unchanged.
Tensor view(const Tensor& self, ScalarType dtype);
/// A view if the strides allow it, otherwise a copy.
Tensor reshape(const Tensor& self, IntArrayRef shape);
/// Merges dimensions start_dim … end_dim into one; a 0-dim tensor becomes 1-D.
Tensor flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1);
/// Splits dimension `dim` into dimensions of `sizes` (one may be -1).
Tensor unflatten(const Tensor& self, int64_t dim, IntArrayRef sizes);
Tensor ravel(const Tensor& self);

/// With at least 1, 2 or 3 dimensions: a vector is [1, n] and [1, n, 1], a matrix [m, n, 1].
Tensor atleast_1d(const Tensor& self);
Tensor atleast_2d(const Tensor& self);
Tensor atleast_3d(const Tensor& self);
std::vector<Tensor> atleast_1d(TensorList tensors);
std::vector<Tensor> atleast_2d(TensorList tensors);
std::vector<Tensor> atleast_3d(TensorList tensors);

/// start, start + step, … up to but excluding end along `dim`; bounds beyond the size are clamped to it. step
/// > 0.
Tensor slice(const Tensor& self, int64_t dim = 0, optional<int64_t> start = nullopt, optional<int64_t> end = nullopt,
             int64_t step = 1);
/// One position along `dim`; the dimension is dropped.
Tensor select(const Tensor& self, int64_t dim, int64_t index);
/// start … start + length - 1 along `dim`. Throws Error when that exceeds the size.
Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length);
/// `start` is a 0-dim tensor of integers. Throws Error for others.
Tensor narrow(const Tensor& self, int64_t dim, const Tensor& start, int64_t length);

/// Repeats size-1 dimensions and adds leading ones, with stride 0; -1 keeps a size.
Tensor expand(const Tensor& self, IntArrayRef size);
/// All expanded to one shape.
std::vector<Tensor> broadcast_tensors(TensorList tensors);
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1);
/// Transpose of a matrix; a vector or a number is returned unchanged.
Tensor t(const Tensor& self);
/// Dimension dims[i] becomes dimension i.
Tensor permute(const Tensor& self, IntArrayRef dims);
/// Moves dimensions `source` to positions `destination`; the others keep their order.
Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination);
Tensor movedim(const Tensor& self, int64_t source, int64_t destination);
inline Tensor swapaxes(const Tensor& self, int64_t axis0, int64_t axis1) { return transpose(self, axis0, axis1); }
/// Removes dimensions of size 1 (all, or `dim` if its size is 1).
Tensor squeeze(const Tensor& self);
Tensor squeeze(const Tensor& self, int64_t dim);
Tensor squeeze(const Tensor& self, IntArrayRef dim);
Tensor unsqueeze(const Tensor& self, int64_t dim);
/// Windows of `size` elements, `step` apart, along `dimension`; the elements of a window form a new last
/// dimension. Windows may share elements; such a view cannot be written in place.
Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step);
/// Elements (i, i + offset) of the dimensions dim1 and dim2, which are replaced by a new last dimension.
Tensor diagonal(const Tensor& self, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);

/// Pieces of `split_size` along `dim`; the last one is smaller if the size is not divisible.
std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim = 0);
/// Pieces of the given `sizes`, which must add up to the size of `dim`.
std::vector<Tensor> split(const Tensor& self, IntArrayRef sizes, int64_t dim = 0);
inline std::vector<Tensor> split_with_sizes(const Tensor& self, IntArrayRef sizes, int64_t dim = 0) {
  return split(self, sizes, dim);
}
/// At most `chunks` pieces of ceil(size / chunks).
std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim = 0);
/// Exactly `sections` pieces, the first size % sections of them larger by one; or pieces cut before each of
/// `indices`.
std::vector<Tensor> tensor_split(const Tensor& self, int64_t sections, int64_t dim = 0);
std::vector<Tensor> tensor_split(const Tensor& self, IntArrayRef indices, int64_t dim = 0);
/// A number of sections (0-dim) or the indices (a vector), int64 on the CPU. Throws Error for other tensors.
std::vector<Tensor> tensor_split(const Tensor& self, const Tensor& indices_or_sections, int64_t dim = 0);
/// tensor_split along dimension 1 (0 for vectors), 0 and 2. A number of sections must divide the size.
std::vector<Tensor> hsplit(const Tensor& self, int64_t sections);
std::vector<Tensor> hsplit(const Tensor& self, IntArrayRef indices);
std::vector<Tensor> vsplit(const Tensor& self, int64_t sections);
std::vector<Tensor> vsplit(const Tensor& self, IntArrayRef indices);
std::vector<Tensor> dsplit(const Tensor& self, int64_t sections);
std::vector<Tensor> dsplit(const Tensor& self, IntArrayRef indices);
std::vector<Tensor> unbind(const Tensor& self, int64_t dim = 0);

namespace autograd {
/// `size` with -1 resolved. Throws Error when it does not hold `numel` elements.
Dims infer_size(IntArrayRef size, int64_t numel, const char* operation);
/// Strides that view `self` as `size` without a copy, or nullopt.
optional<Dims> view_strides(const Tensor& self, IntArrayRef size);
}  // namespace autograd

}  // namespace tandem
