// Padding. `pad` is (before, after) for the last dimension, then for the one before it, and so on.
#pragma once
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// Pads with `value`; negative numbers crop. Throws Error when a size would become negative.
Tensor constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar& value = 0);
/// mode "constant", "reflect" (mirrored, without repeating the edge), "replicate" (repeats the edge) or
/// "circular" (wraps around; negative numbers crop before that). Modes other than constant pad the last 1, 2 or 3
/// dimensions of [N, C, ...] or [C, ...]. Throws Error where padding reaches beyond one reflection or one turn.
Tensor pad(const Tensor& self, IntArrayRef pad, std::string_view mode = "constant", optional<double> value = nullopt);
Tensor reflection_pad1d(const Tensor& self, IntArrayRef padding);
Tensor reflection_pad2d(const Tensor& self, IntArrayRef padding);
Tensor reflection_pad3d(const Tensor& self, IntArrayRef padding);
Tensor replication_pad1d(const Tensor& self, IntArrayRef padding);
Tensor replication_pad2d(const Tensor& self, IntArrayRef padding);
Tensor replication_pad3d(const Tensor& self, IntArrayRef padding);

}  // namespace tandem
