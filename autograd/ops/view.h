// Views: other shapes of the same memory. Writing through a view writes the base; both stay on the tape.
// Dimensions and indices may be negative: they count from the end. Throws Error (IndexError for a dimension
// or an index out of range) that names the operation and the tensor.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The same elements in another shape; one size may be -1. Throws Error when the strides do not allow it:
/// reshape copies.
Tensor view(const Tensor& self, IntArrayRef size);
/// The same bytes as elements of another type; the last dimension grows or shrinks with the element size.
/// Without gradient unless the type stays.
Tensor view(const Tensor& self, ScalarType dtype);
/// A view where the strides allow it, else a copy.
Tensor reshape(const Tensor& self, IntArrayRef shape);
/// Dimensions start_dim … end_dim as one; a 0-dim tensor gets one dimension.
Tensor flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1);
/// Dimension `dim` as several ones of `sizes` (one may be -1).
Tensor unflatten(const Tensor& self, int64_t dim, IntArrayRef sizes);
Tensor ravel(const Tensor& self);

/// start, start + step, … below end along `dim`; bounds beyond the size are cut to it. step > 0.
Tensor slice(const Tensor& self, int64_t dim = 0, optional<int64_t> start = nullopt,
             optional<int64_t> end = nullopt, int64_t step = 1);
/// One position along `dim`, which goes away.
Tensor select(const Tensor& self, int64_t dim, int64_t index);
/// start … start + length - 1 along `dim`. Throws Error when that leaves the tensor.
Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length);

/// Size-1 and new leading dimensions repeated with stride 0; -1 keeps a size.
Tensor expand(const Tensor& self, IntArrayRef size);
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1);
/// Transpose of a matrix; a vector or a number is itself.
Tensor t(const Tensor& self);
/// Dimension dims[i] becomes dimension i.
Tensor permute(const Tensor& self, IntArrayRef dims);
/// Dimensions `source` go to places `destination`; the others keep their order.
Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination);
Tensor movedim(const Tensor& self, int64_t source, int64_t destination);
inline Tensor swapaxes(const Tensor& self, int64_t axis0, int64_t axis1) {
  return transpose(self, axis0, axis1);
}
/// Without dimensions of size 1 (all, or `dim` if its size is 1).
Tensor squeeze(const Tensor& self);
Tensor squeeze(const Tensor& self, int64_t dim);
Tensor squeeze(const Tensor& self, IntArrayRef dim);
Tensor unsqueeze(const Tensor& self, int64_t dim);
/// Windows of `size` elements, `step` apart, along `dimension`; a window's elements are a new last dimension.
/// Windows may share elements: such a view is not written in place.
Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step);
/// Elements (i, i + offset) of the dimensions dim1 and dim2, which go away, as a new last dimension.
Tensor diagonal(const Tensor& self, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);

/// Pieces of `split_size` along `dim`, the last one smaller where it does not divide.
std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim = 0);
/// Pieces of `sizes`, which add up to the size of `dim`.
std::vector<Tensor> split(const Tensor& self, IntArrayRef sizes, int64_t dim = 0);
inline std::vector<Tensor> split_with_sizes(const Tensor& self, IntArrayRef sizes, int64_t dim = 0) {
  return split(self, sizes, dim);
}
/// At most `chunks` pieces of ceil(size / chunks).
std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim = 0);
/// Exactly `sections` pieces, the first size % sections of them larger by one; or cuts before each of
/// `indices`.
std::vector<Tensor> tensor_split(const Tensor& self, int64_t sections, int64_t dim = 0);
std::vector<Tensor> tensor_split(const Tensor& self, IntArrayRef indices, int64_t dim = 0);
/// tensor_split along dimension 1 (0 for vectors), 0 and 2. A number of sections has to divide the size.
std::vector<Tensor> hsplit(const Tensor& self, int64_t sections);
std::vector<Tensor> hsplit(const Tensor& self, IntArrayRef indices);
std::vector<Tensor> vsplit(const Tensor& self, int64_t sections);
std::vector<Tensor> vsplit(const Tensor& self, IntArrayRef indices);
std::vector<Tensor> dsplit(const Tensor& self, int64_t sections);
std::vector<Tensor> dsplit(const Tensor& self, IntArrayRef indices);
std::vector<Tensor> unbind(const Tensor& self, int64_t dim = 0);

namespace autograd {
/// `size` with -1 filled in. Throws Error when it does not hold `numel` elements.
Dims infer_size(IntArrayRef size, int64_t numel, const char* operation);
/// Strides that show `self` as `size` without a copy, if there are any.
optional<Dims> view_strides(const Tensor& self, IntArrayRef size);
}  // namespace autograd

}  // namespace tandem
