// Elements in another order along some dimensions: new tensors (there are no negative strides).
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Reversed along each of `dims`.
Tensor flip(const Tensor& self, IntArrayRef dims);
inline Tensor fliplr(const Tensor& self) { return flip(self, {1}); }
inline Tensor flipud(const Tensor& self) { return flip(self, {0}); }
/// Moved by shifts[i] along dims[i]; what leaves at the end comes in at the start. Without dims: as one row.
Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims = {});
/// k quarter turns from dims[0] towards dims[1].
Tensor rot90(const Tensor& self, int64_t k = 1, IntArrayRef dims = {0, 1});

}  // namespace tandem
