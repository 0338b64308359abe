// as_strided, and the tape's own use of it for views that are written in place.
#pragma once
#include "tandem/autograd/meta.h"

namespace tandem {

/// A window on `self`'s storage: element (i, j, …) lies at offset + i stride[0] + j stride[1] + …, in
/// elements. Throws Error when the window leaves the storage or a stride is negative.
Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride,
                  optional<int64_t> storage_offset = nullopt);

/// A copy of `self` in which that window holds `src` (of shape `size`).
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride,
                          optional<int64_t> storage_offset = nullopt);

namespace autograd {
/// Gives the existing view `view` the history "as_strided of base".
void record_as_strided(const Tensor& view, const Tensor& base);
/// Gives `base` the history "as_strided_scatter of its present self with a value (from `value_edge`) at
/// `view`".
void record_scatter(const Tensor& base, const Tensor& view, Edge value_edge);
}  // namespace autograd

}  // namespace tandem
