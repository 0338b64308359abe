// AvgPool2d, MaxPool2d, AdaptiveAvgPool2d: input [N, C, H, W] or [C, H, W].
#pragma once
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"
#include "tandem/nn/options/pooling.h"

namespace tandem::nn {

class AvgPool2dImpl : public Cloneable<AvgPool2dImpl> {
 public:
  AvgPool2dImpl(ExpandingArray<2> kernel_size) : AvgPool2dImpl(AvgPool2dOptions(kernel_size)) {}
  explicit AvgPool2dImpl(const AvgPool2dOptions& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  AvgPool2dOptions options;
};
TANDEM_MODULE(AvgPool2d);

class MaxPool2dImpl : public Cloneable<MaxPool2dImpl> {
 public:
  MaxPool2dImpl(ExpandingArray<2> kernel_size) : MaxPool2dImpl(MaxPool2dOptions(kernel_size)) {}
  explicit MaxPool2dImpl(const MaxPool2dOptions& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  /// Also returns the positions of the maxima, h * width + w.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
  MaxPool2dOptions options;
};
TANDEM_MODULE(MaxPool2d);

class AdaptiveAvgPool2dImpl : public Cloneable<AdaptiveAvgPool2dImpl> {
 public:
  AdaptiveAvgPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size)
      : AdaptiveAvgPool2dImpl(AdaptiveAvgPool2dOptions(output_size)) {}
  explicit AdaptiveAvgPool2dImpl(const AdaptiveAvgPool2dOptions& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  AdaptiveAvgPool2dOptions options;
};
TANDEM_MODULE(AdaptiveAvgPool2d);

}  // namespace tandem::nn
