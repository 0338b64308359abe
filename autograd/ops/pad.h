// Padding. `pad` is (before, after) for the last dimension, then for the one before it, and so on.
#pragma once
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// With `value`; negative numbers cut. Throws Error where nothing but a negative size would be left.
Tensor constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar& value = 0);
/// mode "constant", "reflect" (mirrored, the edge once), "replicate" (the edge again) or "circular" (from the
/// other side). Beside constant, of the last 1, 2 or 3 dimensions of [N, C, ...] or [C, ...].
Tensor pad(const Tensor& self, IntArrayRef pad, std::string_view mode = "constant",
           optional<double> value = nullopt);
Tensor reflection_pad1d(const Tensor& self, IntArrayRef padding);
Tensor reflection_pad2d(const Tensor& self, IntArrayRef padding);
Tensor replication_pad1d(const Tensor& self, IntArrayRef padding);
Tensor replication_pad2d(const Tensor& self, IntArrayRef padding);

}  // namespace tandem
