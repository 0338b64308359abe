// Functions of a whole tensor: copies, views of all of it, its storage, and questions about it. Most are the functional
// forms of Tensor's members: they return a new tensor.
#pragma once
#include <string_view>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

// ---- copies
Tensor clone(const Tensor& self, optional<MemoryFormat> memory_format = nullopt);
/// self without its history, in the same memory.
Tensor detach(const Tensor& self);
/// A view of all of self.
Tensor alias(const Tensor& self);
/// New tensors in the shape and dtype of self: with `value` (a number or a 0-dim tensor) everywhere, with zeros, and
/// with the values of src, which broadcasts.
Tensor fill(const Tensor& self, const Scalar& value);
Tensor fill(const Tensor& self, const Tensor& value);
Tensor zero(const Tensor& self);
Tensor copy(const Tensor& self, const Tensor& src, bool non_blocking = false);
/// A copy with another number of elements, in row-major order; further elements are uninitialised.
Tensor resize(const Tensor& self, IntArrayRef size, optional<MemoryFormat> memory_format = nullopt);
Tensor resize_as(const Tensor& self, const Tensor& the_template, optional<MemoryFormat> memory_format = nullopt);
/// A copy of source in its shape, or of nothing: [0].
Tensor set(const Tensor& self, const Tensor& source);
Tensor set(const Tensor& self);
/// Makes self a tensor on the storage of source with its geometry, or on none: [0]. Throws Error for other dtypes and
/// devices, and if self requires a gradient.
Tensor& set_(Tensor& self, const Tensor& source);
Tensor& set_(Tensor& self);
/// The same on a storage whose bytes are elements of self's dtype: a vector of all, or `size` of them from an offset
/// (row-major without strides). Throws Error if they are not all within the storage.
Tensor& set_(Tensor& self, const Storage& source);
Tensor& set_(Tensor& self, const Storage& source, int64_t storage_offset, IntArrayRef size, IntArrayRef stride = {});
/// self as a window on its storage, as as_strided makes it.
const Tensor& as_strided_(const Tensor& self, IntArrayRef size, IntArrayRef stride,
                          optional<int64_t> storage_offset = nullopt);

// ---- questions
/// Whether the only element is not 0. Throws Error unless there is exactly one.
bool is_nonzero(const Tensor& self);
bool is_same_size(const Tensor& self, const Tensor& other);
/// Whether results of dtype `from` may be written to tensors of dtype `to`: floating point is not cast to integers, and
/// only bool is cast to bool.
bool can_cast(ScalarType from, ScalarType to);
/// The positions of nonzero elements, one int64 vector per dimension.
std::vector<Tensor> nonzero_numpy(const Tensor& self);
/// The first `size` positions of nonzero elements [size, rank], with rows of fill_value where there are fewer.
Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value = -1);

// ---- new tensors
/// Uninitialised, with these strides (not negative).
Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options = {});
Tensor new_empty_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, const TensorOptions& options = {});
/// Uninitialised and dense; physical_layout lists the dimensions from the largest stride to the smallest.
Tensor empty_permuted(IntArrayRef size, IntArrayRef physical_layout, const TensorOptions& options = {});
/// start, start + step, … up to and including end.
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options = {});
Tensor range(const Scalar& start, const Scalar& end, const TensorOptions& options = {});
/// `size` numbers in the file's memory (on the CPU). If `shared`, writes change the file, which is made long enough;
/// otherwise they are private. Throws Error if the file cannot be opened or is too short.
Tensor from_file(std::string_view filename, optional<bool> shared = nullopt, optional<int64_t> size = 0,
                 const TensorOptions& options = {});

// ---- lists
/// All elements of all tensors, as a vector; and the vector split into the shapes of `tensors`.
Tensor flatten_dense_tensors(TensorList tensors);
std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors);

}  // namespace tandem
