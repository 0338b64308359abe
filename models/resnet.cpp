// ResNet.
#include "tandem/models/resnet.h"

#include "tandem/autograd/ops.h"
#include "tandem/core/profile.h"
#include "tandem/models/initialise.h"
#include "tandem/nn/call.h"
#include "tandem/nn/init.h"

namespace tandem::models {
namespace {

nn::Conv2d convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t groups = 1) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).groups(groups).bias(false));
}
nn::BatchNorm2d normalisation(int64_t channels) { return nn::BatchNorm2d(nn::BatchNorm2dOptions(channels)); }
nn::ReLU rectifier() { return nn::ReLU(nn::ReLUOptions(true)); }

// nn::fuse may have moved the rectifier into the convolution.
Tensor rectified(nn::Conv2d& conv, nn::BatchNorm2d& norm, nn::ReLU& relu, const Tensor& input) {
  const Tensor out = norm(conv(input));
  return conv->fused == nn::FusedActivation::kIdentity ? relu(out) : out;
}
void fuse_rectified(nn::Fuser& fuser, nn::Conv2d& conv, nn::BatchNorm2d& norm, nn::ReLU& relu) {
  if (fuser.fold(*conv, *norm)) fuser.activate(*conv, *relu);
}

}  // namespace

ResNetBlockImpl::ResNetBlockImpl(const ResNetBlockOptions& options)
    : Cloneable("tandem::models::ResNetBlock"), options(options) {
  ResNetBlockImpl::reset();
}

void ResNetBlockImpl::reset() {
  const ResNetBlockOptions& o = options;
  const int64_t in = o.in_channels(), out = o.out_channels(), stride = o.stride();
  const bool bottleneck = o.kind() == ResNetBlockKind::kBottleneck;
  check(bottleneck || (o.groups() == 1 && o.width_per_group() == 64),
        "ResNetBlock: a basic block has groups = 1 and width_per_group = 64, got ", o.groups(), " and ",
        o.width_per_group());
  // torchvision rounds planes * width / 64 down before multiplying by groups.
  const int64_t width = bottleneck ? o.planes() * o.width_per_group() / 64 * o.groups() : o.planes();
  conv1 = register_module("conv1", bottleneck ? convolution(in, width, 1) : convolution(in, width, 3, stride));
  bn1 = register_module("bn1", normalisation(width));
  conv2 = register_module("conv2",
                          bottleneck ? convolution(width, width, 3, stride, o.groups()) : convolution(width, out, 3));
  bn2 = register_module("bn2", normalisation(width));
  if (bottleneck) {
    conv3 = register_module("conv3", convolution(width, out, 1));
    bn3 = register_module("bn3", normalisation(out));
  }
  relu = register_module("relu", rectifier());
  if (stride != 1 || in != out)
    downsample = register_module("downsample", nn::Sequential(convolution(in, out, 1, stride), normalisation(out)));
}

Tensor ResNetBlockImpl::forward(const Tensor& input) {
  Tensor out = rectified(conv1, bn1, relu, input);
  if (conv3) out = rectified(conv2, bn2, relu, out);
  nn::Conv2d& last = conv3 ? conv3 : conv2;
  nn::BatchNorm2d& norm = conv3 ? bn3 : bn2;
  const Tensor identity = downsample ? downsample->forward(input) : input;
  // Once the norm is folded, the sum and the rectifier belong to the last convolution, too,
  // unless hooks want to see them.
  if (norm->folded_rank != 0 && !norm->is_training() && !last->has_forward_hooks() && !norm->has_forward_hooks() &&
      !relu->has_forward_hooks()) {
    const auto finished = [&] { return last->forward_residual(out, identity, nn::FusedActivation::kRelu); };
    if (!profiler::is_on()) return finished();
    const profiler::Record span(nn::detail::span_name(*last), "module");
    return finished();
  }
  out = norm(last(out));
  out.add_(identity);
  return relu(out);
}

void ResNetBlockImpl::fuse(nn::Fuser& fuser) {
  fuse_rectified(fuser, conv1, bn1, relu);
  if (conv3) {
    fuse_rectified(fuser, conv2, bn2, relu);
    fuser.fold(*conv3, *bn3);
  } else {
    fuser.fold(*conv2, *bn2);
  }
}

ResNetImpl::ResNetImpl(const ResNetOptions& options) : Cloneable("tandem::models::ResNet"), options(options) {
  ResNetImpl::reset();
}

nn::Sequential ResNetImpl::stage(int64_t index, int64_t& channels) const {
  nn::Sequential blocks;
  for (int64_t i = 0; i < options.layers()[static_cast<std::size_t>(index)]; ++i) {
    const auto block = ResNetBlockOptions(options.block(), channels, int64_t{64} << index)
                           .stride(i == 0 && index > 0 ? 2 : 1)
                           .groups(options.groups())
                           .width_per_group(options.width_per_group());
    blocks->push_back(ResNetBlock(block));
    channels = block.out_channels();
  }
  return blocks;
}

void ResNetImpl::reset() {
  const std::vector<int64_t>& layers = options.layers();
  check(layers.size() == 4, "ResNet: layers must have 4 elements, got ", layers.size());
  for (const int64_t count : layers) check(count > 0, "ResNet: a stage must have a block, got ", count);
  conv1 = register_module("conv1", convolution(3, 64, 7, 2));
  bn1 = register_module("bn1", normalisation(64));
  relu = register_module("relu", rectifier());
  maxpool = register_module("maxpool", nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  int64_t channels = 64;
  layer1 = register_module("layer1", stage(0, channels));
  layer2 = register_module("layer2", stage(1, channels));
  layer3 = register_module("layer3", stage(2, channels));
  layer4 = register_module("layer4", stage(3, channels));
  avgpool = register_module("avgpool", nn::AdaptiveAvgPool2d(1));
  fc = register_module("fc", nn::Linear(channels, options.num_classes()));
  detail::initialise_convolutions(*this);
  if (!options.zero_init_residual()) return;
  apply([](nn::Module& module) {
    if (auto* block = module.as<ResNetBlock>()) nn::init::zeros_(block->bn3 ? block->bn3->weight : block->bn2->weight);
  });
}

Tensor ResNetImpl::forward(const Tensor& images) {
  Tensor x = maxpool(rectified(conv1, bn1, relu, images));
  for (nn::Sequential* layer : {&layer1, &layer2, &layer3, &layer4}) x = (*layer)->forward(x);
  return fc(avgpool(x).flatten(1));
}

void ResNetImpl::fuse(nn::Fuser& fuser) {
  fuse_rectified(fuser, conv1, bn1, relu);
  fuser.lay_out(*this);
}

namespace {
ResNet resnet(ResNetBlockKind block, std::vector<int64_t> layers, int64_t num_classes) {
  return ResNet(ResNetOptions(block, std::move(layers)).num_classes(num_classes));
}
}  // namespace

ResNet resnet18(int64_t num_classes) { return resnet(ResNetBlockKind::kBasic, {2, 2, 2, 2}, num_classes); }
ResNet resnet34(int64_t num_classes) { return resnet(ResNetBlockKind::kBasic, {3, 4, 6, 3}, num_classes); }
ResNet resnet50(int64_t num_classes) { return resnet(ResNetBlockKind::kBottleneck, {3, 4, 6, 3}, num_classes); }
ResNet resnet101(int64_t num_classes) { return resnet(ResNetBlockKind::kBottleneck, {3, 4, 23, 3}, num_classes); }
ResNet resnet152(int64_t num_classes) { return resnet(ResNetBlockKind::kBottleneck, {3, 8, 36, 3}, num_classes); }

}  // namespace tandem::models
