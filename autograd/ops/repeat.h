// Repeated copies.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The tensor repeats[i] times along dimension i; more repeats than dimensions add leading ones.
Tensor repeat(const Tensor& self, IntArrayRef repeats);
/// The same, but fewer repeats than dimensions mean 1 for the leading ones.
Tensor tile(const Tensor& self, IntArrayRef repeats);
/// Each element `repeats` times (element i repeats[i] times) along `dim`; without dim as one row.
Tensor repeat_interleave(const Tensor& self, int64_t repeats, optional<int64_t> dim = nullopt);
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, optional<int64_t> dim = nullopt);

}  // namespace tandem
