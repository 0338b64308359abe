// The functional form of MultiheadAttention.
#pragma once
#include <tuple>

#include "tandem/nn/options/attention.h"

namespace tandem::nn::functional {

/// query [L, N, embed_dim], key [S, N, kdim], value [S, N, vdim]; returns the output [L, N, embed_dim] and, with
/// need_weights, the weights [N, L, S] averaged over the heads, or [N, heads, L, S] without average_attn_weights.
///
/// key_padding_mask [N, S]: true (or not 0) hides a key. attn_mask [L, S] or [N * heads, L, S]: bool hides where true,
/// numbers are added to the scores. A query from which all keys are hidden gets NaN. Throws Error on other shapes.
std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& options);

}  // namespace tandem::nn::functional
