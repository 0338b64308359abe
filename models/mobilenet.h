// MobileNetV2, with the parameter names of torchvision.
//
// M. Sandler et al.: MobileNetV2: inverted residuals and linear bottlenecks. 2018.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/nn/fuse.h"
#include "tandem/nn/sequential.h"

namespace tandem::models {

/// Expands the channels by 1 x 1, filters each by 3 x 3 and projects by 1 x 1; adds the input if the shapes are equal.
class InvertedResidualImpl : public nn::Cloneable<InvertedResidualImpl> {
 public:
  /// Throws Error unless stride is 1 or 2 and expand_ratio at least 1.
  InvertedResidualImpl(int64_t in_channels, int64_t out_channels, int64_t stride, int64_t expand_ratio);
  void reset() override;
  Tensor forward(const Tensor& input);

  int64_t in_channels, out_channels, stride, expand_ratio;
  nn::Sequential conv = nullptr;
};
TANDEM_MODULE(InvertedResidual);

struct MobileNetV2Options {
  MobileNetV2Options(int64_t num_classes = 1000) : num_classes_(num_classes) {}
  TANDEM_ARG(int64_t, num_classes);
  /// Factor of all numbers of channels, which are then rounded to multiples of 8.
  TANDEM_ARG(double, width_mult) = 1.0;
  TANDEM_ARG(double, dropout) = 0.2;
};

class MobileNetV2Impl : public nn::Cloneable<MobileNetV2Impl>, public nn::Fusable {
 public:
  /// Throws Error unless width_mult is positive.
  explicit MobileNetV2Impl(const MobileNetV2Options& options = {});
  void reset() override;
  /// Images [N, 3, H, W] to logits [N, num_classes].
  Tensor forward(const Tensor& images);
  void fuse(nn::Fuser& fuser) override { fuser.lay_out(*this); }

  MobileNetV2Options options;
  nn::Sequential features = nullptr, classifier = nullptr;
};
TANDEM_MODULE(MobileNetV2);

MobileNetV2 mobilenet_v2(int64_t num_classes = 1000);

}  // namespace tandem::models
