// Reordering elements along dimensions. The results are new tensors, because strides cannot be negative.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Reversed along each of `dims`.
Tensor flip(const Tensor& self, IntArrayRef dims);
inline Tensor fliplr(const Tensor& self) { return flip(self, {1}); }
inline Tensor flipud(const Tensor& self) { return flip(self, {0}); }
/// Shifts by shifts[i] along dims[i]; elements that leave at the end re-enter at the start. Without dims, the
/// flattened tensor is shifted.
Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims = {});
/// Rotates by k quarter turns from dims[0] towards dims[1].
Tensor rot90(const Tensor& self, int64_t k = 1, IntArrayRef dims = {0, 1});

}  // namespace tandem
