// VGG.
#include "tandem/models/vgg.h"

#include "tandem/autograd/ops.h"
#include "tandem/models/initialise.h"
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/layers/batch_norm.h"
#include "tandem/nn/layers/conv.h"
#include "tandem/nn/layers/dropout.h"
#include "tandem/nn/layers/linear.h"

namespace tandem::models {

VGGImpl::VGGImpl(const VGGOptions& options) : Cloneable("tandem::models::VGG"), options(options) { VGGImpl::reset(); }

void VGGImpl::reset() {
  nn::Sequential convolutions, head;
  int64_t channels = 3;
  for (const int64_t out : options.layers()) {
    if (out == 0) {
      convolutions->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2)));
      continue;
    }
    convolutions->push_back(nn::Conv2d(nn::Conv2dOptions(channels, out, 3).padding(1)));
    if (options.batch_norm()) convolutions->push_back(nn::BatchNorm2d(nn::BatchNorm2dOptions(out)));
    convolutions->push_back(nn::ReLU(nn::ReLUOptions(true)));
    channels = out;
  }
  check(channels != 3, "VGG: layers must have a convolution");
  int64_t width = channels * 7 * 7;
  for (int i = 0; i < 2; ++i) {
    head->push_back(nn::Linear(width, 4096));
    head->push_back(nn::ReLU(nn::ReLUOptions(true)));
    head->push_back(nn::Dropout(options.dropout()));
    width = 4096;
  }
  head->push_back(nn::Linear(width, options.num_classes()));
  features = register_module("features", convolutions);
  avgpool = register_module("avgpool", nn::AdaptiveAvgPool2d(7));
  classifier = register_module("classifier", head);
  detail::initialise_convolutions(*this);
  detail::initialise_linears(*this, 0.01);
}

Tensor VGGImpl::forward(const Tensor& images) {
  return classifier->forward(avgpool(features->forward(images)).flatten(1));
}

VGGOptions vgg_options(int64_t depth) {
  switch (depth) {
    case 11:
      return VGGOptions({64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0});
    case 13:
      return VGGOptions({64, 64, 0, 128, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0});
    case 16:
      return VGGOptions({64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0});
    case 19:
      return VGGOptions({64, 64, 0, 128, 128, 0, 256, 256, 256, 256, 0, 512, 512, 512, 512, 0, 512, 512, 512, 512, 0});
    default:
      fail("vgg_options: the depth must be 11, 13, 16 or 19, got ", depth);
  }
}

namespace {
VGG vgg(int64_t depth, bool batch_norm, int64_t num_classes) {
  return VGG(vgg_options(depth).batch_norm(batch_norm).num_classes(num_classes));
}
}  // namespace

VGG vgg11(int64_t num_classes) { return vgg(11, false, num_classes); }
VGG vgg11_bn(int64_t num_classes) { return vgg(11, true, num_classes); }
VGG vgg13(int64_t num_classes) { return vgg(13, false, num_classes); }
VGG vgg13_bn(int64_t num_classes) { return vgg(13, true, num_classes); }
VGG vgg16(int64_t num_classes) { return vgg(16, false, num_classes); }
VGG vgg16_bn(int64_t num_classes) { return vgg(16, true, num_classes); }
VGG vgg19(int64_t num_classes) { return vgg(19, false, num_classes); }
VGG vgg19_bn(int64_t num_classes) { return vgg(19, true, num_classes); }

}  // namespace tandem::models
