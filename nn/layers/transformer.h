// TransformerEncoder, TransformerDecoder, Transformer, and their options, which hold modules.
#pragma once
#include "tandem/nn/layers/transformer_layer.h"
#include "tandem/nn/module_list.h"

namespace tandem::nn {

struct TransformerEncoderOptions {
  /// Every layer is a clone of encoder_layer.
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers)
      : encoder_layer_(std::move(encoder_layer)), num_layers_(num_layers) {}
  TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer_options, int64_t num_layers);
  TANDEM_ARG(TransformerEncoderLayer, encoder_layer) = nullptr;
  TANDEM_ARG(int64_t, num_layers);
  /// Applied to the last layer's output, if not empty.
  TANDEM_ARG(AnyModule, norm) = AnyModule();
};

struct TransformerDecoderOptions {
  /// Every layer is a clone of decoder_layer.
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers)
      : decoder_layer_(std::move(decoder_layer)), num_layers_(num_layers) {}
  TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer_options, int64_t num_layers);
  TANDEM_ARG(TransformerDecoderLayer, decoder_layer) = nullptr;
  TANDEM_ARG(int64_t, num_layers);
  /// Applied to the last layer's output, if not empty.
  TANDEM_ARG(AnyModule, norm) = AnyModule();
};

struct TransformerOptions {
  TransformerOptions() = default;
  TransformerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers)
      : d_model_(d_model),
        nhead_(nhead),
        num_encoder_layers_(num_encoder_layers),
        num_decoder_layers_(num_decoder_layers) {}
  TANDEM_ARG(int64_t, d_model) = 512;
  TANDEM_ARG(int64_t, nhead) = 8;
  TANDEM_ARG(int64_t, num_encoder_layers) = 6;
  TANDEM_ARG(int64_t, num_decoder_layers) = 6;
  TANDEM_ARG(int64_t, dim_feedforward) = 2048;
  TANDEM_ARG(double, dropout) = 0.1;
  TANDEM_ARG(activation_t, activation) = kReLU;
  /// Called as (src, src_mask, src_key_padding_mask).
  TANDEM_ARG(AnyModule, custom_encoder) = AnyModule();
  /// Called as (tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask).
  TANDEM_ARG(AnyModule, custom_decoder) = AnyModule();
};

/// num_layers clones of a layer, one after the other. Shapes: TransformerEncoderLayer.
class TransformerEncoderImpl : public Cloneable<TransformerEncoderImpl> {
 public:
  TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers);
  explicit TransformerEncoderImpl(TransformerEncoderOptions options);
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {});
  void reset() override;
  void reset_parameters();

  TransformerEncoderOptions options;
  ModuleList layers = nullptr;
  AnyModule norm;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())}, {2, AnyValue(Tensor())})
};
TANDEM_MODULE(TransformerEncoder);

/// num_layers clones of a layer, one after the other. Shapes: TransformerDecoderLayer.
class TransformerDecoderImpl : public Cloneable<TransformerDecoderImpl> {
 public:
  TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers);
  explicit TransformerDecoderImpl(TransformerDecoderOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {});

  TransformerDecoderOptions options;
  ModuleList layers = nullptr;
  AnyModule norm;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(Tensor())}, {3, AnyValue(Tensor())}, {4, AnyValue(Tensor())},
                           {5, AnyValue(Tensor())})
};
TANDEM_MODULE(TransformerDecoder);

/// An encoder of src [S, N, d_model] and a decoder of tgt [T, N, d_model], which attends to the encoder's output;
/// returns [T, N, d_model] (A. Vaswani et al.: Attention is all you need, 2017). Weights are Xavier uniform.
class TransformerImpl : public Cloneable<TransformerImpl> {
 public:
  explicit TransformerImpl(TransformerOptions options);
  /// Throws Error unless src and tgt have three dimensions, the same N, and d_model features.
  Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {}, const Tensor& tgt_mask = {},
                 const Tensor& memory_mask = {}, const Tensor& src_key_padding_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {});
  void reset() override;
  void reset_parameters();
  /// [sz, sz]: -infinity above the diagonal, 0 elsewhere.
  static Tensor generate_square_subsequent_mask(int64_t sz);

  TransformerOptions options;
  AnyModule encoder, decoder;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(Tensor())}, {3, AnyValue(Tensor())}, {4, AnyValue(Tensor())},
                           {5, AnyValue(Tensor())}, {6, AnyValue(Tensor())}, {7, AnyValue(Tensor())})
};
TANDEM_MODULE(Transformer);

}  // namespace tandem::nn
