// AvgPool1d, MaxPool1d, AdaptiveAvgPool1d, AdaptiveMaxPool1d: input [N, C, L] or [C, L]. AdaptiveMaxPool2d.
#pragma once
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/options/pooling.h"

namespace tandem::nn {

class AvgPool1dImpl : public detail::Optioned<AvgPool1dImpl, AvgPool1dOptions> {
 public:
  AvgPool1dImpl(ExpandingArray<1> kernel_size) : AvgPool1dImpl(AvgPool1dOptions(kernel_size)) {}
  explicit AvgPool1dImpl(const AvgPool1dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(AvgPool1d);

class MaxPool1dImpl : public detail::Optioned<MaxPool1dImpl, MaxPool1dOptions> {
 public:
  MaxPool1dImpl(ExpandingArray<1> kernel_size) : MaxPool1dImpl(MaxPool1dOptions(kernel_size)) {}
  explicit MaxPool1dImpl(const MaxPool1dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  /// Also returns the positions of the maxima.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(MaxPool1d);

class AdaptiveAvgPool1dImpl : public detail::Optioned<AdaptiveAvgPool1dImpl, AdaptiveAvgPool1dOptions> {
 public:
  AdaptiveAvgPool1dImpl(ExpandingArray<1> output_size) : AdaptiveAvgPool1dImpl(AdaptiveAvgPool1dOptions(output_size)) {}
  explicit AdaptiveAvgPool1dImpl(const AdaptiveAvgPool1dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(AdaptiveAvgPool1d);

class AdaptiveMaxPool1dImpl : public detail::Optioned<AdaptiveMaxPool1dImpl, AdaptiveMaxPool1dOptions> {
 public:
  AdaptiveMaxPool1dImpl(ExpandingArray<1> output_size) : AdaptiveMaxPool1dImpl(AdaptiveMaxPool1dOptions(output_size)) {}
  explicit AdaptiveMaxPool1dImpl(const AdaptiveMaxPool1dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  /// Also returns the positions of the maxima.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(AdaptiveMaxPool1d);

class AdaptiveMaxPool2dImpl : public detail::Optioned<AdaptiveMaxPool2dImpl, AdaptiveMaxPool2dOptions> {
 public:
  AdaptiveMaxPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size)
      : AdaptiveMaxPool2dImpl(AdaptiveMaxPool2dOptions(output_size)) {}
  explicit AdaptiveMaxPool2dImpl(const AdaptiveMaxPool2dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  /// Also returns the positions of the maxima, h * width + w.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(AdaptiveMaxPool2d);

}  // namespace tandem::nn
