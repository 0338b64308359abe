// MobileNetV2.
#include "tandem/models/mobilenet.h"

#include <algorithm>
#include <cmath>

#include "tandem/autograd/ops.h"
#include "tandem/models/initialise.h"
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/layers/batch_norm.h"
#include "tandem/nn/layers/conv.h"
#include "tandem/nn/layers/dropout.h"
#include "tandem/nn/layers/linear.h"

namespace tandem::models {
namespace {

nn::Conv2d convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t groups = 1) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).groups(groups).bias(false));
}
nn::BatchNorm2d normalisation(int64_t channels) { return nn::BatchNorm2d(nn::BatchNorm2dOptions(channels)); }
nn::Sequential activated(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t groups = 1) {
  return nn::Sequential(convolution(in, out, kernel, stride, groups), normalisation(out),
                        nn::ReLU6(nn::ReLU6Options(true)));
}

// The nearest multiple of 8, at least 8, that is not more than a tenth below `channels`.
int64_t rounded(double channels) {
  const auto near = std::max<int64_t>(8, static_cast<int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(near) < 0.9 * channels ? near + 8 : near;
}

struct Stage {
  int64_t expand_ratio, channels, blocks, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

}  // namespace

InvertedResidualImpl::InvertedResidualImpl(int64_t in_channels, int64_t out_channels, int64_t stride,
                                           int64_t expand_ratio)
    : Cloneable("tandem::models::InvertedResidual"),
      in_channels(in_channels),
      out_channels(out_channels),
      stride(stride),
      expand_ratio(expand_ratio) {
  InvertedResidualImpl::reset();
}

void InvertedResidualImpl::reset() {
  check(stride == 1 || stride == 2, "InvertedResidual: stride must be 1 or 2, got ", stride);
  check(expand_ratio >= 1, "InvertedResidual: expand_ratio must be at least 1, got ", expand_ratio);
  const int64_t width = in_channels * expand_ratio;
  nn::Sequential layers;
  if (expand_ratio != 1) layers->push_back(activated(in_channels, width, 1));
  layers->push_back(activated(width, width, 3, stride, width));
  layers->push_back(convolution(width, out_channels, 1));
  layers->push_back(normalisation(out_channels));
  conv = register_module("conv", layers);
}

Tensor InvertedResidualImpl::forward(const Tensor& input) {
  if (stride != 1 || in_channels != out_channels) return conv->forward(input);
  const std::size_t last = conv->size() - 2;  // and its BatchNorm
  if (conv->at<nn::BatchNorm2dImpl>(last + 1).folded_rank == 0) return input + conv->forward(input);
  Tensor x = input;
  for (std::size_t i = 0; i < last; ++i) x = (conv->begin() + static_cast<std::ptrdiff_t>(i))->forward(x);
  return conv->at<nn::Conv2dImpl>(last).forward_residual(x, input);
}

MobileNetV2Impl::MobileNetV2Impl(const MobileNetV2Options& options)
    : Cloneable("tandem::models::MobileNetV2"), options(options) {
  MobileNetV2Impl::reset();
}

void MobileNetV2Impl::reset() {
  const double factor = options.width_mult();
  check(factor > 0 && factor < 1000, "MobileNetV2: width_mult must be between 0 and 1000, got ", factor);
  nn::Sequential layers;
  int64_t channels = rounded(32 * factor);
  layers->push_back(activated(3, channels, 3, 2));
  for (const Stage& stage : kStages) {
    const int64_t out = rounded(static_cast<double>(stage.channels) * factor);
    for (int64_t i = 0; i < stage.blocks; ++i) {
      layers->push_back(InvertedResidual(channels, out, i == 0 ? stage.stride : 1, stage.expand_ratio));
      channels = out;
    }
  }
  const int64_t last = rounded(1280 * std::max(1.0, factor));
  layers->push_back(activated(channels, last, 1));
  features = register_module("features", layers);
  classifier = register_module("classifier",
                               nn::Sequential(nn::Dropout(options.dropout()), nn::Linear(last, options.num_classes())));
  detail::initialise_convolutions(*this);
  detail::initialise_linears(*this, 0.01);
}

Tensor MobileNetV2Impl::forward(const Tensor& images) {
  return classifier->forward(adaptive_avg_pool2d(features->forward(images), {1, 1}).flatten(1));
}

MobileNetV2 mobilenet_v2(int64_t num_classes) { return MobileNetV2(MobileNetV2Options(num_classes)); }

}  // namespace tandem::models
