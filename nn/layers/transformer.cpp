// TransformerEncoder, TransformerDecoder, Transformer.
#include "tandem/nn/layers/transformer.h"

#include <limits>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/view/tril.h"

namespace tandem::nn {
namespace {

// Registers num_layers clones of the layer, and a clone of the norm, if there is one.
template <class Stack, class Layer>
void build(Stack& stack, const char* name, const Layer& layer) {
  const int64_t count = stack.options.num_layers();
  check(!layer.is_empty(), name, ": the layer is an empty module holder");
  check(count >= 0, name, ": num_layers must not be negative, got ", count);
  stack.layers = stack.register_module("layers", ModuleList());
  for (int64_t i = 0; i < count; ++i) stack.layers->push_back(layer->clone());
  if (stack.options.norm().is_empty()) return;
  stack.norm = stack.options.norm().clone();
  stack.register_module("norm", stack.norm.ptr());
}

template <class LayerOptions>
LayerOptions layer_options(const TransformerOptions& o) {
  return LayerOptions(o.d_model(), o.nhead())
      .dim_feedforward(o.dim_feedforward())
      .dropout(o.dropout())
      .activation(o.activation());
}

}  // namespace

TransformerEncoderOptions::TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer_options,
                                                     int64_t num_layers)
    : encoder_layer_(encoder_layer_options), num_layers_(num_layers) {}
TransformerDecoderOptions::TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer_options,
                                                     int64_t num_layers)
    : decoder_layer_(decoder_layer_options), num_layers_(num_layers) {}

TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers)
    : TransformerEncoderImpl(TransformerEncoderOptions(std::move(encoder_layer), num_layers)) {}
TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderOptions options) : options(std::move(options)) {
  TransformerEncoderImpl::reset();
}
void TransformerEncoderImpl::reset() { build(*this, "TransformerEncoder", options.encoder_layer()); }
void TransformerEncoderImpl::reset_parameters() {
  for (std::size_t i = 0; i < layers->size(); ++i) layers->at<TransformerEncoderLayerImpl>(i).reset_parameters();
}
Tensor TransformerEncoderImpl::forward(const Tensor& src, const Tensor& src_mask, const Tensor& src_key_padding_mask) {
  Tensor x = src;
  for (std::size_t i = 0; i < layers->size(); ++i)
    x = call(layers->at<TransformerEncoderLayerImpl>(i), x, src_mask, src_key_padding_mask);
  return norm.is_empty() ? x : norm.forward(x);
}

TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers)
    : TransformerDecoderImpl(TransformerDecoderOptions(std::move(decoder_layer), num_layers)) {}
TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderOptions options) : options(std::move(options)) {
  TransformerDecoderImpl::reset();
}
void TransformerDecoderImpl::reset() { build(*this, "TransformerDecoder", options.decoder_layer()); }
void TransformerDecoderImpl::reset_parameters() {
  for (std::size_t i = 0; i < layers->size(); ++i) layers->at<TransformerDecoderLayerImpl>(i).reset_parameters();
}
Tensor TransformerDecoderImpl::forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                       const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                       const Tensor& memory_key_padding_mask) {
  Tensor x = tgt;
  for (std::size_t i = 0; i < layers->size(); ++i)
    x = call(layers->at<TransformerDecoderLayerImpl>(i), x, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
             memory_key_padding_mask);
  return norm.is_empty() ? x : norm.forward(x);
}

TransformerImpl::TransformerImpl(TransformerOptions options) : options(std::move(options)) { TransformerImpl::reset(); }
void TransformerImpl::reset() {
  const auto normalization = [&] { return AnyModule(LayerNorm(LayerNormOptions({options.d_model()}))); };
  if (options.custom_encoder().is_empty())
    encoder = AnyModule(TransformerEncoder(
        TransformerEncoderOptions(layer_options<TransformerEncoderLayerOptions>(options), options.num_encoder_layers())
            .norm(normalization())));
  else
    encoder = options.custom_encoder().clone();
  register_module("encoder", encoder.ptr());
  if (options.custom_decoder().is_empty())
    decoder = AnyModule(TransformerDecoder(
        TransformerDecoderOptions(layer_options<TransformerDecoderLayerOptions>(options), options.num_decoder_layers())
            .norm(normalization())));
  else
    decoder = options.custom_decoder().clone();
  register_module("decoder", decoder.ptr());
  reset_parameters();
}
void TransformerImpl::reset_parameters() {
  for (const Tensor& p : parameters())
    if (p.dim() > 1) init::xavier_uniform_(p);
}

Tensor TransformerImpl::forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask, const Tensor& tgt_mask,
                                const Tensor& memory_mask, const Tensor& src_key_padding_mask,
                                const Tensor& tgt_key_padding_mask, const Tensor& memory_key_padding_mask) {
  const int64_t width = options.d_model();
  const auto expect = [&](bool condition, const char* what) {
    check(condition, "src and tgt should have ", what, ": Transformer expected src [S, N, ", width, "] and tgt [T, N, ",
          width, "]\n  src ", src, "\n  tgt ", tgt);
  };
  expect(src.dim() == 3 && tgt.dim() == 3, "3 dimensions");
  expect(src.size(1) == tgt.size(1), "equal batch size");
  expect(src.size(2) == width && tgt.size(2) == width, "same feature size as d_model");
  const Tensor memory = encoder.forward(src, src_mask, src_key_padding_mask);
  return decoder.forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
}

Tensor TransformerImpl::generate_square_subsequent_mask(int64_t sz) {
  check(sz >= 0, "generate_square_subsequent_mask: sz must not be negative, got ", sz);
  return full({sz, sz}, -std::numeric_limits<double>::infinity(), dtype(get_default_dtype())).triu(1);
}

}  // namespace tandem::nn
