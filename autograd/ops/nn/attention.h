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
/// Computed by blocks, forward and backward, without a matrix of all scores: a block that the mask hides entirely costs
/// nothing, and a row does not depend on the other sequences. The exceptions hold the scores: a mask that requires a
/// gradient, gradients of gradients, more than four dimensions, batches that broadcast, dropout_p of 1 and, on
/// the CPU, GeneratorMode::kPyTorch with dropout; on CUDA also float64 and E or V above 256.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask = {}, double dropout_p = 0, bool is_causal = false,
                                    optional<double> scale = nullopt, bool enable_gqa = false);

namespace autograd {
/// scaled_dot_product_attention of queries that follow `before` others: query i sees the keys up to i + before, without
/// those that `mask` hides, which may be undefined.
Tensor causal_attention(const Tensor& query, const Tensor& key, const Tensor& value, int64_t before,
                        const Tensor& mask = {});
}  // namespace autograd

}  // namespace tandem
