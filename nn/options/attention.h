// Options of MultiheadAttention.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
  TANDEM_ARG(int64_t, embed_dim);
  TANDEM_ARG(int64_t, num_heads);
  /// Of the attention weights.
  TANDEM_ARG(double, dropout) = 0.0;
  TANDEM_ARG(bool, bias) = true;
  /// Appends a learned key and value to the sequences.
  TANDEM_ARG(bool, add_bias_kv) = false;
  /// Appends a key and a value of zeros to the sequences.
  TANDEM_ARG(bool, add_zero_attn) = false;
  /// Features of key and value.
  TANDEM_ARG(int64_t, kdim);
  TANDEM_ARG(int64_t, vdim);
};

namespace functional {
/// The names are those of MultiheadAttention's parameters and of the arguments of its forward().
struct MultiheadAttentionForwardFuncOptions {
  MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads, Tensor in_proj_weight,
                                       Tensor in_proj_bias, Tensor bias_k, Tensor bias_v, bool add_zero_attn,
                                       double dropout_p, Tensor out_proj_weight, Tensor out_proj_bias)
      : embed_dim_to_check_(embed_dim_to_check),
        num_heads_(num_heads),
        in_proj_weight_(std::move(in_proj_weight)),
        in_proj_bias_(std::move(in_proj_bias)),
        bias_k_(std::move(bias_k)),
        bias_v_(std::move(bias_v)),
        add_zero_attn_(add_zero_attn),
        dropout_p_(dropout_p),
        out_proj_weight_(std::move(out_proj_weight)),
        out_proj_bias_(std::move(out_proj_bias)) {}
  TANDEM_ARG(int64_t, embed_dim_to_check);
  TANDEM_ARG(int64_t, num_heads);
  TANDEM_ARG(Tensor, in_proj_weight);
  TANDEM_ARG(Tensor, in_proj_bias);
  TANDEM_ARG(Tensor, bias_k);
  TANDEM_ARG(Tensor, bias_v);
  TANDEM_ARG(bool, add_zero_attn);
  TANDEM_ARG(double, dropout_p);
  TANDEM_ARG(Tensor, out_proj_weight);
  TANDEM_ARG(Tensor, out_proj_bias);
  TANDEM_ARG(bool, training) = true;
  TANDEM_ARG(Tensor, key_padding_mask) = Tensor();
  TANDEM_ARG(bool, need_weights) = true;
  TANDEM_ARG(Tensor, attn_mask) = Tensor();
  /// Uses q_proj_weight, k_proj_weight and v_proj_weight in place of in_proj_weight.
  TANDEM_ARG(bool, use_separate_proj_weight) = false;
  TANDEM_ARG(Tensor, q_proj_weight) = Tensor();
  TANDEM_ARG(Tensor, k_proj_weight) = Tensor();
  TANDEM_ARG(Tensor, v_proj_weight) = Tensor();
  /// Projected keys and values [N * heads, S, features of a head] in place of those of the inputs.
  TANDEM_ARG(Tensor, static_k) = Tensor();
  TANDEM_ARG(Tensor, static_v) = Tensor();
  TANDEM_ARG(bool, average_attn_weights) = true;
};
}  // namespace functional

}  // namespace tandem::nn
