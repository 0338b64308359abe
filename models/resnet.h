// ResNet, with the parameter names of torchvision.
//
// K. He et al.: Deep residual learning for image recognition. 2015. As in torchvision, the stride of a bottleneck is at
// its 3 x 3 convolution ("ResNet v1.5").
#pragma once
#include <vector>

#include "tandem/core/arg.h"
#include "tandem/nn/fuse.h"
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/layers/batch_norm.h"
#include "tandem/nn/layers/conv.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/layers/pooling.h"
#include "tandem/nn/sequential.h"

namespace tandem::models {

/// kBasic: two 3 x 3 convolutions. kBottleneck: 1 x 1, 3 x 3 and 1 x 1, with four times as many output channels.
enum class ResNetBlockKind { kBasic, kBottleneck };

struct ResNetBlockOptions {
  ResNetBlockOptions(ResNetBlockKind kind, int64_t in_channels, int64_t planes)
      : kind_(kind), in_channels_(in_channels), planes_(planes) {}
  /// Output channels of the block.
  int64_t out_channels() const { return kind_ == ResNetBlockKind::kBasic ? planes_ : 4 * planes_; }
  TANDEM_ARG(ResNetBlockKind, kind);
  TANDEM_ARG(int64_t, in_channels);
  /// Output channels before the factor of a bottleneck.
  TANDEM_ARG(int64_t, planes);
  TANDEM_ARG(int64_t, stride) = 1;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(int64_t, width_per_group) = 64;
};

/// A residual block: conv1, bn1, conv2, bn2, for a bottleneck conv3 and bn3, and downsample (a 1 x 1 convolution and a
/// BatchNorm2d) if the shapes of input and output differ.
class ResNetBlockImpl : public nn::Cloneable<ResNetBlockImpl>, public nn::Fusable {
 public:
  explicit ResNetBlockImpl(const ResNetBlockOptions& options);
  void reset() override;
  /// [N, in_channels, H, W] to [N, out_channels, ceil(H / stride), ceil(W / stride)].
  Tensor forward(const Tensor& input);
  void fuse(nn::Fuser& fuser) override;

  ResNetBlockOptions options;
  nn::Conv2d conv1 = nullptr, conv2 = nullptr, conv3 = nullptr;
  nn::BatchNorm2d bn1 = nullptr, bn2 = nullptr, bn3 = nullptr;
  nn::ReLU relu = nullptr;
  nn::Sequential downsample = nullptr;
};
TANDEM_MODULE(ResNetBlock);

struct ResNetOptions {
  ResNetOptions(ResNetBlockKind block, std::vector<int64_t> layers) : block_(block), layers_(std::move(layers)) {}
  TANDEM_ARG(ResNetBlockKind, block);
  /// Numbers of blocks in the four stages.
  TANDEM_ARG(std::vector<int64_t>, layers);
  TANDEM_ARG(int64_t, num_classes) = 1000;
  /// Starts every block as the identity: the weight of its last BatchNorm is 0.
  TANDEM_ARG(bool, zero_init_residual) = false;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(int64_t, width_per_group) = 64;
};

class ResNetImpl : public nn::Cloneable<ResNetImpl>, public nn::Fusable {
 public:
  /// Throws Error unless there are four stages of at least one block.
  explicit ResNetImpl(const ResNetOptions& options);
  void reset() override;
  /// Images [N, 3, H, W] to logits [N, num_classes].
  Tensor forward(const Tensor& images);
  void fuse(nn::Fuser& fuser) override;

  ResNetOptions options;
  nn::Conv2d conv1 = nullptr;
  nn::BatchNorm2d bn1 = nullptr;
  nn::ReLU relu = nullptr;
  nn::MaxPool2d maxpool = nullptr;
  nn::Sequential layer1 = nullptr, layer2 = nullptr, layer3 = nullptr, layer4 = nullptr;
  nn::AdaptiveAvgPool2d avgpool = nullptr;
  nn::Linear fc = nullptr;

 private:
  nn::Sequential stage(int64_t index, int64_t& channels) const;
};
TANDEM_MODULE(ResNet);

ResNet resnet18(int64_t num_classes = 1000);
ResNet resnet34(int64_t num_classes = 1000);
ResNet resnet50(int64_t num_classes = 1000);
ResNet resnet101(int64_t num_classes = 1000);
ResNet resnet152(int64_t num_classes = 1000);

}  // namespace tandem::models
