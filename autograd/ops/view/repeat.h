// Repeating tensors and elements.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Repeats the tensor repeats[i] times along dimension i; extra repeats add leading dimensions.
Tensor repeat(const Tensor& self, IntArrayRef repeats);
/// The same, but missing leading repeats count as 1.
Tensor tile(const Tensor& self, IntArrayRef repeats);
/// Repeats each element `repeats` times (element i repeats[i] times) along `dim`; without dim, of the
/// flattened tensor.
Tensor repeat_interleave(const Tensor& self, int64_t repeats, optional<int64_t> dim = nullopt);
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, optional<int64_t> dim = nullopt);

}  // namespace tandem
