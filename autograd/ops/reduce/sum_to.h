// sum_to_size: the gradient of a broadcast.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {
namespace detail {
/// Whether a tensor of shape `size` broadcasts to `wide`.
bool broadcasts(IntArrayRef size, IntArrayRef wide);
}  // namespace detail

/// Sums `self` over the dimensions that broadcasting `size` to its shape would expand; the result has shape
/// `size`. Throws Error (prefixed with `operation`) when `size` does not broadcast to self's shape.
Tensor sum_to_size(const Tensor& self, IntArrayRef size, const char* operation = "sum_to_size");

}  // namespace tandem
