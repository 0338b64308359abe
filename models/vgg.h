// VGG, with the parameter names of torchvision.
//
// K. Simonyan, A. Zisserman: Very deep convolutional networks for large-scale image recognition. 2014.
#pragma once
#include <vector>

#include "tandem/core/arg.h"
#include "tandem/nn/fuse.h"
#include "tandem/nn/layers/pooling.h"
#include "tandem/nn/sequential.h"

namespace tandem::models {

struct VGGOptions {
  explicit VGGOptions(std::vector<int64_t> layers) : layers_(std::move(layers)) {}
  /// Output channels of the 3 x 3 convolutions; 0 is a pooling by 2.
  TANDEM_ARG(std::vector<int64_t>, layers);
  /// Follows every convolution with a BatchNorm2d.
  TANDEM_ARG(bool, batch_norm) = false;
  TANDEM_ARG(int64_t, num_classes) = 1000;
  TANDEM_ARG(double, dropout) = 0.5;
};

class VGGImpl : public nn::Cloneable<VGGImpl>, public nn::Fusable {
 public:
  /// Throws Error if `layers` has no convolution.
  explicit VGGImpl(const VGGOptions& options);
  void reset() override;
  /// Images [N, 3, H, W] of at least 32 x 32 pixels to logits [N, num_classes].
  Tensor forward(const Tensor& images);
  void fuse(nn::Fuser& fuser) override { fuser.lay_out(*this); }

  VGGOptions options;
  nn::Sequential features = nullptr;
  nn::AdaptiveAvgPool2d avgpool = nullptr;
  nn::Sequential classifier = nullptr;
};
TANDEM_MODULE(VGG);

/// The options of VGG-11, 13, 16 or 19. Throws Error for another depth.
VGGOptions vgg_options(int64_t depth);

VGG vgg11(int64_t num_classes = 1000);
VGG vgg11_bn(int64_t num_classes = 1000);
VGG vgg13(int64_t num_classes = 1000);
VGG vgg13_bn(int64_t num_classes = 1000);
VGG vgg16(int64_t num_classes = 1000);
VGG vgg16_bn(int64_t num_classes = 1000);
VGG vgg19(int64_t num_classes = 1000);
VGG vgg19_bn(int64_t num_classes = 1000);

}  // namespace tandem::models
