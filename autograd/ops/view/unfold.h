// The adjoint of unfold (view.h).
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Adds the windows that unfold(dim, size, step) takes of a tensor of input_sizes up at their positions: the gradient
/// of unfold. Throws Error unless grad_in has the shape of these windows.
Tensor unfold_backward(const Tensor& grad_in, IntArrayRef input_sizes, int64_t dim, int64_t size, int64_t step);

}  // namespace tandem
