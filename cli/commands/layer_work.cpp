// The arithmetic of one layer.
#include "tandem/cli/commands/layer_work.h"

#include "tandem/models/gpt2.h"
#include "tandem/nn/layers/attention.h"
#include "tandem/nn/layers/batch_norm.h"
#include "tandem/nn/layers/conv.h"
#include "tandem/nn/layers/dropout.h"
#include "tandem/nn/layers/embedding.h"
#include "tandem/nn/layers/layer_norm.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/layers/pooling.h"

namespace tandem::cli {

Work products(int64_t outputs, int64_t terms, bool bias) {
  return {outputs * (2 * terms + (bias ? 1 : 0)), outputs * terms};
}

namespace {

// Scores of `queries` and `keys` of this width over all heads, their softmax, and the sums that they weight.
Work attention(int64_t queries, int64_t keys, int64_t width, int64_t heads) {
  const int64_t products = 2 * queries * keys * width;
  return {2 * products + 3 * heads * queries * keys, products};
}

Work operator+(Work a, Work b) { return {a.operations + b.operations, a.multiply_adds + b.multiply_adds}; }

// Queries [L, N, E]; N is 1, as in all runs of this tool.
Work multihead(const nn::MultiheadAttentionImpl& layer, const std::vector<Tensor>& inputs) {
  const int64_t queries = inputs[0].size(0), keys = inputs[1].size(0), width = layer.options.embed_dim();
  const bool bias = layer.in_proj_bias.defined();
  return products(queries * width, width, bias) + products(keys * width, layer.options.kdim(), bias) +
         products(keys * width, layer.options.vdim(), bias) +
         attention(queries, keys, width, layer.options.num_heads()) + products(queries * width, width, bias);
}

}  // namespace

Work work_of(const nn::Module& layer, const std::vector<Tensor>& inputs, const Tensor& out) {
  if (const auto* multi = layer.as<nn::MultiheadAttention>()) return multihead(*multi, inputs);
  if (const auto* gpt2 = layer.as<models::GPT2Attention>())
    return attention(out.size(1), out.size(1), out.size(2), gpt2->options.n_head());
  if (const auto* conv = layer.as<nn::Conv2d>())
    return products(out.numel(), conv->weight.numel() / conv->weight.size(0), conv->bias.defined());
  if (const auto* linear = layer.as<nn::Linear>())
    return products(out.numel(), linear->options.in_features(), linear->bias.defined());
  if (const auto* linear = layer.as<models::Conv1D>()) return products(out.numel(), linear->in_features, true);
  if (const auto* head = layer.as<models::GPT2Head>())
    return products(out.numel(), (head->is_quantized() ? head->weight_int8 : head->weight).size(1), false);
  if (layer.as<nn::AvgPool2d>() != nullptr || layer.as<nn::AdaptiveAvgPool2d>() != nullptr)
    return {inputs[0].numel(), 0};
  if (layer.as<nn::BatchNorm2d>() != nullptr) return {2 * out.numel(), 0};
  // The mean, the deviations, their squares' sum, the quotient, the weight and the bias.
  if (layer.as<nn::LayerNorm>() != nullptr) return {7 * out.numel(), 0};
  const bool none = layer.as<nn::Flatten>() != nullptr || layer.as<nn::Dropout>() != nullptr ||
                    layer.as<nn::Embedding>() != nullptr || layer.as<nn::Identity>() != nullptr;
  return {none || !out.defined() ? 0 : out.numel(), 0};
}

}  // namespace tandem::cli
