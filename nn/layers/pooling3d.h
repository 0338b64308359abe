// MaxPool3d, AvgPool3d, AdaptiveMaxPool3d, AdaptiveAvgPool3d: input [N, C, D, H, W] or [C, D, H, W]. LPPool1d, 2d, 3d.
#pragma once
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/options/pooling.h"

namespace tandem::nn {

class AvgPool3dImpl : public detail::Optioned<AvgPool3dImpl, AvgPool3dOptions> {
 public:
  AvgPool3dImpl(ExpandingArray<3> kernel_size) : AvgPool3dImpl(AvgPool3dOptions(kernel_size)) {}
  explicit AvgPool3dImpl(const AvgPool3dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(AvgPool3d);

class MaxPool3dImpl : public detail::Optioned<MaxPool3dImpl, MaxPool3dOptions> {
 public:
  MaxPool3dImpl(ExpandingArray<3> kernel_size) : MaxPool3dImpl(MaxPool3dOptions(kernel_size)) {}
  explicit MaxPool3dImpl(const MaxPool3dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  /// Also returns the positions of the maxima, (d * height + h) * width + w.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(MaxPool3d);

class AdaptiveAvgPool3dImpl : public detail::Optioned<AdaptiveAvgPool3dImpl, AdaptiveAvgPool3dOptions> {
 public:
  AdaptiveAvgPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size)
      : AdaptiveAvgPool3dImpl(AdaptiveAvgPool3dOptions(output_size)) {}
  explicit AdaptiveAvgPool3dImpl(const AdaptiveAvgPool3dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(AdaptiveAvgPool3d);

class AdaptiveMaxPool3dImpl : public detail::Optioned<AdaptiveMaxPool3dImpl, AdaptiveMaxPool3dOptions> {
 public:
  AdaptiveMaxPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size)
      : AdaptiveMaxPool3dImpl(AdaptiveMaxPool3dOptions(output_size)) {}
  explicit AdaptiveMaxPool3dImpl(const AdaptiveMaxPool3dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  /// Also returns the positions of the maxima, (d * height + h) * width + w.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(AdaptiveMaxPool3d);

class LPPool1dImpl : public detail::Optioned<LPPool1dImpl, LPPool1dOptions> {
 public:
  LPPool1dImpl(double norm_type, ExpandingArray<1> kernel_size)
      : LPPool1dImpl(LPPool1dOptions(norm_type, kernel_size)) {}
  explicit LPPool1dImpl(const LPPool1dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(LPPool1d);

class LPPool2dImpl : public detail::Optioned<LPPool2dImpl, LPPool2dOptions> {
 public:
  LPPool2dImpl(double norm_type, ExpandingArray<2> kernel_size)
      : LPPool2dImpl(LPPool2dOptions(norm_type, kernel_size)) {}
  explicit LPPool2dImpl(const LPPool2dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(LPPool2d);

class LPPool3dImpl : public detail::Optioned<LPPool3dImpl, LPPool3dOptions> {
 public:
  LPPool3dImpl(double norm_type, ExpandingArray<3> kernel_size)
      : LPPool3dImpl(LPPool3dOptions(norm_type, kernel_size)) {}
  explicit LPPool3dImpl(const LPPool3dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(LPPool3d);

}  // namespace tandem::nn
