// Vision Transformer.
#include "tandem/models/vision_transformer.h"

#include <cmath>

#include "tandem/autograd/ops.h"
#include "tandem/models/initialise.h"
#include "tandem/nn/init.h"
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/layers/linear.h"

namespace tandem::models {
namespace {

using Options = VisionTransformerOptions;

nn::LayerNorm normalisation(const Options& o) {
  return nn::LayerNorm(nn::LayerNormOptions({o.hidden_dim()}).eps(1e-6));
}

nn::Linear dense(int64_t in, int64_t out) {
  nn::Linear layer(in, out);
  nn::init::xavier_uniform_(layer->weight);
  nn::init::normal_(layer->bias, 0, 1e-6);
  return layer;
}

}  // namespace

ViTEncoderBlockImpl::ViTEncoderBlockImpl(const Options& options)
    : Cloneable("tandem::models::ViTEncoderBlock"), options(options) {
  ViTEncoderBlockImpl::reset();
}

void ViTEncoderBlockImpl::reset() {
  const Options& o = options;
  ln_1 = register_module("ln_1", normalisation(o));
  self_attention =
      register_module("self_attention",
                      nn::MultiheadAttention(
                          nn::MultiheadAttentionOptions(o.hidden_dim(), o.num_heads()).dropout(o.attention_dropout())));
  dropout = register_module("dropout", nn::Dropout(o.dropout()));
  ln_2 = register_module("ln_2", normalisation(o));
  // Both draw: as arguments of one call, their order would be the compiler's choice.
  const nn::Linear narrow = dense(o.mlp_dim(), o.hidden_dim()), wide = dense(o.hidden_dim(), o.mlp_dim());
  mlp = register_module("mlp",
                        nn::Sequential(wide, nn::GELU(), nn::Dropout(o.dropout()), narrow, nn::Dropout(o.dropout())));
}

Tensor ViTEncoderBlockImpl::forward(const Tensor& input) {
  const Tensor tokens = ln_1(input).transpose(0, 1);
  const Tensor attended = std::get<0>(self_attention(tokens, tokens, tokens, Tensor(), false));
  const Tensor x = dropout(attended.transpose(0, 1)) + input;
  return x + mlp->forward(ln_2(x));
}

ViTEncoderImpl::ViTEncoderImpl(const Options& options) : Cloneable("tandem::models::ViTEncoder"), options(options) {
  ViTEncoderImpl::reset();
}

void ViTEncoderImpl::reset() {
  const int64_t side = options.image_size() / options.patch_size();
  pos_embedding = register_parameter("pos_embedding", tandem::empty({1, side * side + 1, options.hidden_dim()}));
  nn::init::normal_(pos_embedding, 0, 0.02);
  dropout = register_module("dropout", nn::Dropout(options.dropout()));
  nn::Sequential blocks;
  for (int64_t i = 0; i < options.num_layers(); ++i)
    blocks->push_back(concat("encoder_layer_", i), ViTEncoderBlock(options));
  layers = register_module("layers", blocks);
  ln = register_module("ln", normalisation(options));
}

Tensor ViTEncoderImpl::forward(const Tensor& input) { return ln(layers->forward(dropout(input + pos_embedding))); }

VisionTransformerImpl::VisionTransformerImpl(const Options& options)
    : Cloneable("tandem::models::VisionTransformer"), options(options) {
  VisionTransformerImpl::reset();
}

void VisionTransformerImpl::reset() {
  const int64_t patch = options.patch_size(), width = options.hidden_dim();
  check(patch > 0 && options.image_size() > 0 && options.image_size() % patch == 0,
        "VisionTransformer: patch_size must divide image_size, got ", patch, " and ", options.image_size());
  check(options.num_layers() > 0, "VisionTransformer: num_layers must be positive, got ", options.num_layers());
  class_token = register_parameter("class_token", zeros({1, 1, width}));
  conv_proj = register_module("conv_proj", nn::Conv2d(nn::Conv2dOptions(3, width, patch).stride(patch)));
  detail::trunc_normal_(conv_proj->weight, std::sqrt(1 / static_cast<double>(3 * patch * patch)));
  nn::init::zeros_(conv_proj->bias);
  encoder = register_module("encoder", ViTEncoder(options));
  nn::Linear head(width, options.num_classes());
  nn::init::zeros_(head->weight);
  nn::init::zeros_(head->bias);
  nn::Sequential named;
  named->push_back("head", head);
  heads = register_module("heads", named);
}

Tensor VisionTransformerImpl::forward(const Tensor& images) {
  const int64_t side = options.image_size();
  check(images.dim() == 4 && images.size(2) == side && images.size(3) == side,
        "VisionTransformer: images must be [N, 3, ", side, ", ", side, "], got ", images);
  const Tensor patches = conv_proj(images).flatten(2).transpose(1, 2);
  const Tensor tokens = cat({class_token.expand({images.size(0), -1, -1}), patches}, 1);
  return heads->forward(encoder(tokens).select(1, 0));
}

VisionTransformer vit_b_16(int64_t num_classes) { return VisionTransformer(Options().num_classes(num_classes)); }
VisionTransformer vit_b_32(int64_t num_classes) {
  return VisionTransformer(Options().patch_size(32).num_classes(num_classes));
}
VisionTransformer vit_l_16(int64_t num_classes) {
  return VisionTransformer(
      Options().num_layers(24).num_heads(16).hidden_dim(1024).mlp_dim(4096).num_classes(num_classes));
}

}  // namespace tandem::models
