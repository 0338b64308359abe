// Options of the layers of a transformer.
#pragma once
#include <functional>
#include <variant>

#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/enums.h"

namespace tandem {
namespace nn {

enum class GELUActivation : int8_t { kGELU };

/// kReLU, kGELU, or a function. Other constants are rejected when the layer runs.
using activation_t = std::variant<init::Nonlinearity, GELUActivation, std::function<Tensor(const Tensor&)>>;

#define TANDEM_TRANSFORMER_LAYER_OPTIONS(Name)                                 \
  struct Name {                                                                \
    Name(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {} \
    TANDEM_ARG(int64_t, d_model);                                              \
    TANDEM_ARG(int64_t, nhead);                                                \
    TANDEM_ARG(int64_t, dim_feedforward) = 2048;                               \
    TANDEM_ARG(double, dropout) = 0.1;                                         \
    TANDEM_ARG(activation_t, activation) = kReLU;                              \
  }
TANDEM_TRANSFORMER_LAYER_OPTIONS(TransformerEncoderLayerOptions);
TANDEM_TRANSFORMER_LAYER_OPTIONS(TransformerDecoderLayerOptions);
#undef TANDEM_TRANSFORMER_LAYER_OPTIONS

}  // namespace nn

inline constexpr nn::GELUActivation kGELU = nn::GELUActivation::kGELU;

}  // namespace tandem
