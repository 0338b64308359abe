// TransformerEncoderLayer and TransformerDecoderLayer.
#include "tandem/nn/layers/transformer_layer.h"

#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/unary.h"

namespace tandem::nn {
namespace {

Tensor activate(const activation_t& activation, const Tensor& x) {
  if (const auto* function = std::get_if<std::function<Tensor(const Tensor&)>>(&activation)) return (*function)(x);
  if (std::holds_alternative<GELUActivation>(activation)) return tandem::gelu(x);
  check(std::get<init::Nonlinearity>(activation) == init::Nonlinearity::kReLU,
        "Transformer: activation must be kReLU, kGELU or a function");
  return tandem::relu(x);
}

template <class Options>
MultiheadAttention attention(const Options& options) {
  return MultiheadAttention(MultiheadAttentionOptions(options.d_model(), options.nhead()).dropout(options.dropout()));
}
template <class Options>
LayerNorm normalization(const Options& options) {
  return LayerNorm(LayerNormOptions({options.d_model()}));
}

}  // namespace

TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(TransformerEncoderLayerOptions options)
    : options(std::move(options)) {
  TransformerEncoderLayerImpl::reset();
}
void TransformerEncoderLayerImpl::reset() {
  self_attn = register_module("self_attn", attention(options));
  linear1 = register_module("linear1", Linear(options.d_model(), options.dim_feedforward()));
  dropout = register_module("dropout", Dropout(options.dropout()));
  linear2 = register_module("linear2", Linear(options.dim_feedforward(), options.d_model()));
  norm1 = register_module("norm1", normalization(options));
  norm2 = register_module("norm2", normalization(options));
  dropout1 = register_module("dropout1", Dropout(options.dropout()));
  dropout2 = register_module("dropout2", Dropout(options.dropout()));
}
void TransformerEncoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  norm1->reset_parameters();
  norm2->reset_parameters();
}
Tensor TransformerEncoderLayerImpl::forward(const Tensor& src, const Tensor& src_mask,
                                            const Tensor& src_key_padding_mask) {
  const Tensor attended = std::get<0>(self_attn(src, src, src, src_key_padding_mask, false, src_mask, true));
  const Tensor x = norm1(src + dropout1(attended));
  return norm2(x + dropout2(linear2(dropout(activate(options.activation(), linear1(x))))));
}

TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(TransformerDecoderLayerOptions options)
    : options(std::move(options)) {
  TransformerDecoderLayerImpl::reset();
}
void TransformerDecoderLayerImpl::reset() {
  self_attn = register_module("self_attn", attention(options));
  multihead_attn = register_module("multihead_attn", attention(options));
  linear1 = register_module("linear1", Linear(options.d_model(), options.dim_feedforward()));
  dropout = register_module("dropout", Dropout(options.dropout()));
  linear2 = register_module("linear2", Linear(options.dim_feedforward(), options.d_model()));
  norm1 = register_module("norm1", normalization(options));
  norm2 = register_module("norm2", normalization(options));
  norm3 = register_module("norm3", normalization(options));
  dropout1 = register_module("dropout1", Dropout(options.dropout()));
  dropout2 = register_module("dropout2", Dropout(options.dropout()));
  dropout3 = register_module("dropout3", Dropout(options.dropout()));
}
void TransformerDecoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  multihead_attn->_reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  norm1->reset_parameters();
  norm2->reset_parameters();
  norm3->reset_parameters();
}
Tensor TransformerDecoderLayerImpl::activation(const Tensor& input) { return activate(options.activation(), input); }
Tensor TransformerDecoderLayerImpl::forward(Tensor tgt, const Tensor& memory, const Tensor& tgt_mask,
                                            const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                            const Tensor& memory_key_padding_mask) {
  const Tensor own = std::get<0>(self_attn(tgt, tgt, tgt, tgt_key_padding_mask, false, tgt_mask, true));
  const Tensor x = norm1(tgt + dropout1(own));
  const Tensor other =
      std::get<0>(multihead_attn(x, memory, memory, memory_key_padding_mask, false, memory_mask, true));
  const Tensor y = norm2(x + dropout2(other));
  return norm3(y + dropout3(linear2(dropout(activation(linear1(y))))));
}

}  // namespace tandem::nn
