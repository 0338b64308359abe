// MultiheadAttention.
#pragma once
#include <tuple>

#include "tandem/nn/any_module.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/options/attention.h"

namespace tandem::nn {

/// Attention in num_heads subspaces (A. Vaswani et al.: Attention is all you need, 2017). Shapes and masks:
/// functional::multi_head_attention_forward. Parameters: in_proj_weight [3 embed_dim, embed_dim], or q_proj_weight,
/// k_proj_weight and v_proj_weight if kdim or vdim differs from embed_dim; in_proj_bias; bias_k and bias_v [1, 1,
/// embed_dim]; out_proj.
class MultiheadAttentionImpl : public Cloneable<MultiheadAttentionImpl> {
 public:
  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  /// Throws Error unless num_heads divides embed_dim.
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options);
  void reset() override;
  void _reset_parameters();
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {}, bool average_attn_weights = true);

  MultiheadAttentionOptions options;
  bool _qkv_same_embed_dim = false;
  Tensor in_proj_weight, in_proj_bias, bias_k, bias_v;
  Linear out_proj = nullptr;
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;
  int64_t head_dim = 0;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({3, AnyValue(Tensor())}, {4, AnyValue(true)}, {5, AnyValue(Tensor())}, {6, AnyValue(true)})
};
TANDEM_MODULE(MultiheadAttention);

}  // namespace tandem::nn
