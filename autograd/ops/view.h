// Views: other shapes of the same memory. Writing through a view writes the base; both stay on the tape.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The same elements in another shape; one size may be -1. Throws Error when the strides do not allow it:
/// reshape copies.
Tensor view(const Tensor& self, IntArrayRef size);
/// A view where the strides allow it, else a copy.
Tensor reshape(const Tensor& self, IntArrayRef shape);
/// Size-1 and new leading dimensions repeated with stride 0; -1 keeps a size.
Tensor expand(const Tensor& self, IntArrayRef size);
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1);
/// Transpose of a matrix; a vector or a number is itself.
Tensor t(const Tensor& self);

namespace autograd {
/// `size` with -1 filled in. Throws Error when it does not hold `numel` elements.
Dims infer_size(IntArrayRef size, int64_t numel, const char* operation);
/// Strides that show `self` as `size` without a copy, if there are any.
optional<Dims> view_strides(const Tensor& self, IntArrayRef size);
}  // namespace autograd

}  // namespace tandem
