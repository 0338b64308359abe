// Repeating tensors and elements.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Repeats the tensor repeats[i] times along dimension i; extra repeats add leading dimensions.
Tensor repeat(const Tensor& self, IntArrayRef repeats);
/// The same, but missing leading repeats count as 1.
Tensor tile(const Tensor& self, IntArrayRef repeats);
/// Repeats each element `repeats` times (element i repeats[i] times) along `dim`; without dim, of the
/// flattened tensor. Throws Error if the result's size along dim is not output_size, when that is given.
Tensor repeat_interleave(const Tensor& self, int64_t repeats, optional<int64_t> dim = nullopt,
                         optional<int64_t> output_size = nullopt);
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, optional<int64_t> dim = nullopt,
                         optional<int64_t> output_size = nullopt);
/// The positions 0, 1, …, each repeats[i] times, in the dtype of repeats (int32 or int64).
Tensor repeat_interleave(const Tensor& repeats, optional<int64_t> output_size = nullopt);

}  // namespace tandem
