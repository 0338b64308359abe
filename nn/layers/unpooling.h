// FractionalMaxPool2d, 3d: pooling with random windows. MaxUnpool1d, 2d, 3d: the partial inverse of max pooling.
#pragma once
#include "tandem/nn/any_module.h"
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/options/pooling.h"

namespace tandem::nn {

/// Input [N, C, H, W] or [C, H, W].
class FractionalMaxPool2dImpl : public Cloneable<FractionalMaxPool2dImpl> {
 public:
  FractionalMaxPool2dImpl(ExpandingArray<2> kernel_size)
      : FractionalMaxPool2dImpl(FractionalMaxPool2dOptions(kernel_size)) {}
  /// Throws Error unless exactly one of output_size and output_ratio is set, and ratios are between 0 and 1.
  explicit FractionalMaxPool2dImpl(FractionalMaxPool2dOptions options);
  /// Registers the random samples of the options as a buffer.
  void reset() override;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
  FractionalMaxPool2dOptions options;
  Tensor _random_samples;
};
TANDEM_MODULE(FractionalMaxPool2d);

/// Input [N, C, D, H, W] or [C, D, H, W].
class FractionalMaxPool3dImpl : public Cloneable<FractionalMaxPool3dImpl> {
 public:
  FractionalMaxPool3dImpl(ExpandingArray<3> kernel_size)
      : FractionalMaxPool3dImpl(FractionalMaxPool3dOptions(kernel_size)) {}
  /// Throws Error unless exactly one of output_size and output_ratio is set, and ratios are between 0 and 1.
  explicit FractionalMaxPool3dImpl(FractionalMaxPool3dOptions options);
  /// Registers the random samples of the options as a buffer.
  void reset() override;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
  FractionalMaxPool3dOptions options;
  Tensor _random_samples;
};
TANDEM_MODULE(FractionalMaxPool3d);

class MaxUnpool1dImpl : public detail::Optioned<MaxUnpool1dImpl, MaxUnpool1dOptions> {
 public:
  MaxUnpool1dImpl(ExpandingArray<1> kernel_size) : MaxUnpool1dImpl(MaxUnpool1dOptions(kernel_size)) {}
  explicit MaxUnpool1dImpl(const MaxUnpool1dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input, const Tensor& indices,
                 const optional<std::vector<int64_t>>& output_size = nullopt);
  void pretty_print(std::ostream& stream) const override;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(optional<std::vector<int64_t>>())})
};
TANDEM_MODULE(MaxUnpool1d);

class MaxUnpool2dImpl : public detail::Optioned<MaxUnpool2dImpl, MaxUnpool2dOptions> {
 public:
  MaxUnpool2dImpl(ExpandingArray<2> kernel_size) : MaxUnpool2dImpl(MaxUnpool2dOptions(kernel_size)) {}
  explicit MaxUnpool2dImpl(const MaxUnpool2dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input, const Tensor& indices,
                 const optional<std::vector<int64_t>>& output_size = nullopt);
  void pretty_print(std::ostream& stream) const override;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(optional<std::vector<int64_t>>())})
};
TANDEM_MODULE(MaxUnpool2d);

class MaxUnpool3dImpl : public detail::Optioned<MaxUnpool3dImpl, MaxUnpool3dOptions> {
 public:
  MaxUnpool3dImpl(ExpandingArray<3> kernel_size) : MaxUnpool3dImpl(MaxUnpool3dOptions(kernel_size)) {}
  explicit MaxUnpool3dImpl(const MaxUnpool3dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input, const Tensor& indices,
                 const optional<std::vector<int64_t>>& output_size = nullopt);
  void pretty_print(std::ostream& stream) const override;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(optional<std::vector<int64_t>>())})
};
TANDEM_MODULE(MaxUnpool3d);

}  // namespace tandem::nn
