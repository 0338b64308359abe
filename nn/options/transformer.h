// Options of the layers of a transformer and of Transformer.
#pragma once
#include <functional>
#include <variant>

#include "tandem/core/arg.h"
#include "tandem/nn/any_module.h"
#include "tandem/nn/enums.h"

namespace tandem {
namespace nn {

enum class GELUActivation : int8_t { kGELU };

/// kReLU, kGELU, or a function. Other constants are rejected when the layer runs.
using activation_t = std::variant<init::Nonlinearity, GELUActivation, std::function<Tensor(const Tensor&)>>;

struct TransformerEncoderLayerOptions {
  TransformerEncoderLayerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TANDEM_ARG(int64_t, d_model);
  TANDEM_ARG(int64_t, nhead);
  TANDEM_ARG(int64_t, dim_feedforward) = 2048;
  TANDEM_ARG(double, dropout) = 0.1;
  TANDEM_ARG(activation_t, activation) = kReLU;
};

struct TransformerDecoderLayerOptions {
  TransformerDecoderLayerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TANDEM_ARG(int64_t, d_model);
  TANDEM_ARG(int64_t, nhead);
  TANDEM_ARG(int64_t, dim_feedforward) = 2048;
  TANDEM_ARG(double, dropout) = 0.1;
  TANDEM_ARG(activation_t, activation) = kReLU;
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

}  // namespace nn

inline constexpr nn::GELUActivation kGELU = nn::GELUActivation::kGELU;

}  // namespace tandem
