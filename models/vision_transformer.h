// Vision Transformer, with the parameter names of torchvision.
//
// A. Dosovitskiy et al.: An image is worth 16x16 words: transformers for image recognition at scale. 2020.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/nn/layers/attention.h"
#include "tandem/nn/layers/conv.h"
#include "tandem/nn/layers/dropout.h"
#include "tandem/nn/layers/layer_norm.h"
#include "tandem/nn/sequential.h"

namespace tandem::models {

struct VisionTransformerOptions {
  /// Of the square images and of the patches into which they are cut.
  TANDEM_ARG(int64_t, image_size) = 224;
  TANDEM_ARG(int64_t, patch_size) = 16;
  TANDEM_ARG(int64_t, num_layers) = 12;
  TANDEM_ARG(int64_t, num_heads) = 12;
  TANDEM_ARG(int64_t, hidden_dim) = 768;
  TANDEM_ARG(int64_t, mlp_dim) = 3072;
  TANDEM_ARG(double, dropout) = 0.0;
  TANDEM_ARG(double, attention_dropout) = 0.0;
  TANDEM_ARG(int64_t, num_classes) = 1000;
};

/// Attention and a network of two linear layers, each after a layer normalisation and with its residual.
class ViTEncoderBlockImpl : public nn::Cloneable<ViTEncoderBlockImpl> {
 public:
  explicit ViTEncoderBlockImpl(const VisionTransformerOptions& options);
  void reset() override;
  /// [N, S, hidden_dim] to the same shape.
  Tensor forward(const Tensor& input);

  VisionTransformerOptions options;
  nn::LayerNorm ln_1 = nullptr;
  nn::MultiheadAttention self_attention = nullptr;
  nn::Dropout dropout = nullptr;
  nn::LayerNorm ln_2 = nullptr;
  nn::Sequential mlp = nullptr;
};
TANDEM_MODULE(ViTEncoderBlock);

class ViTEncoderImpl : public nn::Cloneable<ViTEncoderImpl> {
 public:
  explicit ViTEncoderImpl(const VisionTransformerOptions& options);
  void reset() override;
  /// [N, S, hidden_dim] to the same shape; S is 1 + (image_size / patch_size)².
  Tensor forward(const Tensor& input);

  VisionTransformerOptions options;
  /// [1, S, hidden_dim]
  Tensor pos_embedding;
  nn::Dropout dropout = nullptr;
  nn::Sequential layers = nullptr;
  nn::LayerNorm ln = nullptr;
};
TANDEM_MODULE(ViTEncoder);

class VisionTransformerImpl : public nn::Cloneable<VisionTransformerImpl> {
 public:
  /// Throws Error unless patch_size divides image_size.
  explicit VisionTransformerImpl(const VisionTransformerOptions& options = {});
  void reset() override;
  /// Images [N, 3, image_size, image_size] to logits [N, num_classes]. Throws Error for other shapes.
  Tensor forward(const Tensor& images);

  VisionTransformerOptions options;
  /// [1, 1, hidden_dim], the token before the patches.
  Tensor class_token;
  nn::Conv2d conv_proj = nullptr;
  ViTEncoder encoder = nullptr;
  nn::Sequential heads = nullptr;
};
TANDEM_MODULE(VisionTransformer);

VisionTransformer vit_b_16(int64_t num_classes = 1000);
VisionTransformer vit_b_32(int64_t num_classes = 1000);
VisionTransformer vit_l_16(int64_t num_classes = 1000);

}  // namespace tandem::models
