// Conv1d, Conv2d, ConvTranspose2d.
#pragma once
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"
#include "tandem/nn/options/conv.h"

namespace tandem::nn {

/// Base of Conv1d and Conv2d: weight [out, in / groups, kernel…], bias [out]; both are initialised uniformly
/// in ±1/√(in / groups · kernel). The constructor throws Error on invalid options.
template <std::size_t D, class Derived>
class ConvNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvNdImpl(const ConvOptions<D>& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  ConvOptions<D> options;
  Tensor weight, bias;

 protected:
  /// padded() returns the input with its padding applied unless padding_mode is kZeros; remaining_padding()
  /// is the padding left to the convolution: all of it for kZeros, otherwise none.
  Tensor padded(const Tensor& input) const;
  ConvPadding<D> remaining_padding() const;
};

class Conv1dImpl : public ConvNdImpl<1, Conv1dImpl> {
 public:
  Conv1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size)
      : Conv1dImpl(Conv1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv1dImpl(const Conv1dOptions& options) : ConvNdImpl(options) {}
  /// [N, in, L] or [in, L].
  Tensor forward(const Tensor& input);
};
TANDEM_MODULE(Conv1d);

class Conv2dImpl : public ConvNdImpl<2, Conv2dImpl> {
 public:
  Conv2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : Conv2dImpl(Conv2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv2dImpl(const Conv2dOptions& options) : ConvNdImpl(options) {}
  /// [N, in, H, W] or [in, H, W].
  Tensor forward(const Tensor& input);
};
TANDEM_MODULE(Conv2d);

/// The transpose of a convolution: weight [in, out / groups, kernel…], bias [out].
class ConvTranspose2dImpl : public Cloneable<ConvTranspose2dImpl> {
 public:
  ConvTranspose2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : ConvTranspose2dImpl(ConvTranspose2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose2dImpl(const ConvTranspose2dOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  /// [N, in, H, W] or [in, H, W].
  Tensor forward(const Tensor& input);

  ConvTranspose2dOptions options;
  Tensor weight, bias;
};
TANDEM_MODULE(ConvTranspose2d);

}  // namespace tandem::nn
