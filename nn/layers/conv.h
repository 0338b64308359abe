// Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d.
#pragma once
#include "tandem/core/memory/kept_weight.h"
#include "tandem/nn/any_module.h"
#include "tandem/nn/cloneable.h"
#include "tandem/nn/layers/fused_activation.h"
#include "tandem/nn/module_holder.h"
#include "tandem/nn/options/conv.h"

namespace tandem::nn {

/// Base of Conv1d, Conv2d and Conv3d: weight [out, in / groups, kernel…], bias [out]; both are initialised uniformly
/// in ±1/√(in / groups · kernel). The constructor throws Error on invalid options.
template <std::size_t D, class Derived>
class ConvNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvNdImpl(const ConvOptions<D>& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  /// Gives the layer other values, of the same shapes, in new tensors; it has a bias from then on.
  void replace(const Tensor& new_weight, const Tensor& new_bias);

  ConvOptions<D> options;
  Tensor weight, bias;
  /// Applied to the output; set by fuse().
  FusedActivation fused = FusedActivation::kIdentity;
  /// Whether Conv2d keeps its weight packed between calls in inference, which takes as much memory again;
  /// set by fuse().
  bool keeps_packed = false;
  /// The layout of Conv2d's output, by default that of the input or the weight; channels-last only in inference on a CPU where
  /// that is faster; set by fuse().
  optional<MemoryFormat> layout;

 protected:
  /// padded() returns the input with its padding applied unless padding_mode is kZeros; remaining_padding()
  /// is the padding left to the convolution: all of it for kZeros, otherwise none.
  Tensor padded(const Tensor& input) const;
  ConvPadding<D> remaining_padding() const;

  KeptWeight packed_;
};

class Conv1dImpl : public ConvNdImpl<1, Conv1dImpl> {
 public:
  Conv1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size)
      : Conv1dImpl(Conv1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv1dImpl(const Conv1dOptions& options_) : ConvNdImpl(options_) {}
  /// [N, in, L] or [in, L].
  Tensor forward(const Tensor& input);
};
TANDEM_MODULE(Conv1d);

class Conv2dImpl : public ConvNdImpl<2, Conv2dImpl> {
 public:
  Conv2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : Conv2dImpl(Conv2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv2dImpl(const Conv2dOptions& options_) : ConvNdImpl(options_) {}
  /// [N, in, H, W] or [in, H, W].
  Tensor forward(const Tensor& input);
  /// activation(forward(input) + residual), to the bit and usually in one pass. `residual` has the shape of the output.
  Tensor forward_residual(const Tensor& input, const Tensor& residual,
                          FusedActivation activation = FusedActivation::kIdentity);

 private:
  Tensor run(const Tensor& input, const Tensor& residual, FusedActivation activation);
};
TANDEM_MODULE(Conv2d);

class Conv3dImpl : public ConvNdImpl<3, Conv3dImpl> {
 public:
  Conv3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size)
      : Conv3dImpl(Conv3dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv3dImpl(const Conv3dOptions& options_) : ConvNdImpl(options_) {}
  /// [N, in, D, H, W] or [in, D, H, W].
  Tensor forward(const Tensor& input);
};
TANDEM_MODULE(Conv3d);

/// Base of ConvTranspose1d, ConvTranspose2d and ConvTranspose3d, the transposes of convolutions: weight
/// [in, out / groups, kernel…], bias [out], initialised as in ConvNdImpl.
template <std::size_t D, class Derived>
class ConvTransposeNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvTransposeNdImpl(const ConvTransposeOptions<D>& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  ConvTransposeOptions<D> options;
  Tensor weight, bias;

 protected:
  /// The options of the functional form for an output of output_size: its last D sizes, or all of them; nullopt:
  /// options.output_padding(). Throws Error for a size that no output_padding below the stride yields.
  functional::ConvTransposeFuncOptions<D> function_options(const Tensor& input,
                                                           const optional<IntArrayRef>& output_size) const;
};

#define TANDEM_CONV_TRANSPOSE(Name, D)                                                       \
  class Name##Impl : public ConvTransposeNdImpl<D, Name##Impl> {                             \
   public:                                                                                   \
    Name##Impl(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)     \
        : Name##Impl(Name##Options(in_channels, out_channels, kernel_size)) {}               \
    explicit Name##Impl(const Name##Options& options_) : ConvTransposeNdImpl(options_) {}    \
    Tensor forward(const Tensor& input, const optional<IntArrayRef>& output_size = nullopt); \
                                                                                             \
   protected:                                                                                \
    FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(optional<IntArrayRef>())})                         \
  }
/// Of [N, in, L] or [in, L].
TANDEM_CONV_TRANSPOSE(ConvTranspose1d, 1);
TANDEM_MODULE(ConvTranspose1d);
/// Of [N, in, H, W] or [in, H, W].
TANDEM_CONV_TRANSPOSE(ConvTranspose2d, 2);
TANDEM_MODULE(ConvTranspose2d);
/// Of [N, in, D, H, W] or [in, D, H, W].
TANDEM_CONV_TRANSPOSE(ConvTranspose3d, 3);
TANDEM_MODULE(ConvTranspose3d);
#undef TANDEM_CONV_TRANSPOSE

}  // namespace tandem::nn
