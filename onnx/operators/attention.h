// Helpers for the attention operators of several domains.
#pragma once
#include "tandem/onnx/operators.h"

namespace tandem::onnx {

/// [B, length, heads size] → [B, heads, length, size]
Tensor split_heads(const Tensor& t, int64_t heads);
Tensor join_heads(const Tensor& t);
/// Throws Error unless they are [B, heads, length, size] and fit; queries may share the heads of keys and values.
void check_heads(const Tensor& q, const Tensor& k, const Tensor& v);
/// The first `size` elements of each row of x [B, heads, length, ...] turned by angles. Caches of their cosines and
/// sines: [B, length, size / 2], or with positions [B, length], [any, size / 2].
Tensor rotate(const Tensor& x, int64_t size, const Tensor& cosines, const Tensor& sines, const Tensor& positions,
              bool interleaved);

}  // namespace tandem::onnx
