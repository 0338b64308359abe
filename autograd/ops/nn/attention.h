// Attention of queries to keys.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// softmax(scale query keyᵀ + mask) value: A. Vaswani et al.: Attention is all you need, 2017. query [..., L, E], key
/// [..., S, E], value [..., S, V]; the result is [..., L, V].
///
/// attn_mask broadcasts to [..., L, S]: bool (true takes part) or numbers of the query's dtype, which are added.
/// is_causal, without attn_mask, hides keys j > i from query i. A query that sees no key gets zeros. dropout_p is
/// applied to the softmax, always. scale: 1 / sqrt(E) if not given. With enable_gqa, the third-last dimension of query
/// is a multiple of that of key and value, whose heads are shared. Throws Error on other shapes and dtypes.
///
/// On the CPU, float32 and float64 without dropout are computed by blocks, forward and backward, without the matrix of
/// all scores.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask = {}, double dropout_p = 0, bool is_causal = false,
                                    optional<double> scale = nullopt, bool enable_gqa = false);

}  // namespace tandem
