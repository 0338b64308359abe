// Options of TransformerEncoder and TransformerDecoder.
#pragma once
#include "tandem/nn/layers/transformer_layer.h"

namespace tandem::nn {

struct TransformerEncoderOptions {
  /// Every layer is a clone of encoder_layer.
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers)
      : encoder_layer_(std::move(encoder_layer)), num_layers_(num_layers) {}
  TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer_options, int64_t num_layers)
      : encoder_layer_(encoder_layer_options), num_layers_(num_layers) {}
  TANDEM_ARG(TransformerEncoderLayer, encoder_layer) = nullptr;
  TANDEM_ARG(int64_t, num_layers);
  /// Applied to the last layer's output, if not empty.
  TANDEM_ARG(AnyModule, norm) = AnyModule();
};

struct TransformerDecoderOptions {
  /// Every layer is a clone of decoder_layer.
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers)
      : decoder_layer_(std::move(decoder_layer)), num_layers_(num_layers) {}
  TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer_options, int64_t num_layers)
      : decoder_layer_(decoder_layer_options), num_layers_(num_layers) {}
  TANDEM_ARG(TransformerDecoderLayer, decoder_layer) = nullptr;
  TANDEM_ARG(int64_t, num_layers);
  /// Applied to the last layer's output, if not empty.
  TANDEM_ARG(AnyModule, norm) = AnyModule();
};

}  // namespace tandem::nn
