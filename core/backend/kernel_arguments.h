// What kernels do with their arguments.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The elements of a tensor that may be undefined.
template <class T>
T* data_or_null(const Tensor& t) {
  return t.defined() ? t.ptr<T>() : nullptr;
}

/// A row-major copy.
inline Tensor row_major_copy(const Tensor& t) {
  Tensor copy = empty_raw(t.sizes(), t.dtype(), t.device());
  copy_raw(copy, t);
  return copy;
}
/// The tensor itself if it is row-major or undefined, otherwise such a copy.
inline Tensor row_major(const Tensor& t) { return !t.defined() || t.is_contiguous() ? t : row_major_copy(t); }

/// A view of `t` at position 0 of `dim`, without that dimension; the others have the sizes in `sizes`.
inline Tensor without_dim(const Tensor& t, int64_t dim, IntArrayRef sizes) {
  Dims left(sizes), strides(t.strides());
  left.erase(static_cast<std::size_t>(dim));
  strides.erase(static_cast<std::size_t>(dim));
  return alias(t, left, strides, t.storage_offset());
}

}  // namespace tandem
