// as_strided, and its use by the tape for views that are written in place.
#pragma once
#include "tandem/autograd/meta.h"

namespace tandem {

/// A window on the storage of `self`: element (i, j, …) is at offset + i stride[0] + j stride[1] + …, in
/// elements. Throws Error when the window exceeds the storage or a stride is negative.
Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset = nullopt);

/// A copy of `self` with the window's elements replaced by `src` (of shape `size`).
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride,
                          optional<int64_t> storage_offset = nullopt);

namespace autograd {
/// Sets the history of the existing view `view` to "as_strided of base".
void record_as_strided(const Tensor& view, const Tensor& base);
/// Sets the history of `base` to "as_strided_scatter of the current base with a value (from `value_edge`) at
/// `view`".
void record_scatter(const Tensor& base, const Tensor& view, Edge value_edge);
}  // namespace autograd

}  // namespace tandem
