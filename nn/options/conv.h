// Options of convolutions.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/enums.h"
#include "tandem/nn/expanding_array.h"

namespace tandem::nn {

/// Padding on both sides of each dimension, or kSame or kValid.
template <std::size_t D>
class ConvPadding {
 public:
  ConvPadding(ExpandingArray<D> values) : values_(values) {}
  ConvPadding(int64_t single) : values_(single) {}
  ConvPadding(std::initializer_list<int64_t> values) : values_(values) {}
  ConvPadding(const std::vector<int64_t>& values) : values_(values) {}
  ConvPadding(PaddingKind kind) : values_(0), same_(kind == kSame), named_(true) {}
  const ExpandingArray<D>& values() const { return values_; }
  bool is_same() const { return same_; }
  /// Whether it was given as kSame or kValid.
  bool is_named() const { return named_; }

 private:
  ExpandingArray<D> values_;
  bool same_ = false, named_ = false;
};

template <std::size_t D>
struct ConvOptions {
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TANDEM_ARG(int64_t, in_channels);
  TANDEM_ARG(int64_t, out_channels);
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  TANDEM_ARG(ConvPadding<D>, padding) = 0;
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(bool, bias) = true;
  /// kZeros, kReflect, kReplicate or kCircular.
  TANDEM_ARG(PaddingMode, padding_mode) = kZeros;
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;

template <std::size_t D>
struct ConvTransposeOptions {
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TANDEM_ARG(int64_t, in_channels);
  TANDEM_ARG(int64_t, out_channels);
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  /// Only kZeros is supported.
  TANDEM_ARG(PaddingMode, padding_mode) = kZeros;
};
using ConvTranspose1dOptions = ConvTransposeOptions<1>;
using ConvTranspose2dOptions = ConvTransposeOptions<2>;
using ConvTranspose3dOptions = ConvTransposeOptions<3>;

namespace functional {
template <std::size_t D>
struct ConvFuncOptions {
  TANDEM_ARG(Tensor, bias) = Tensor();
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  TANDEM_ARG(ConvPadding<D>, padding) = 0;
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(int64_t, groups) = 1;
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
using Conv3dFuncOptions = ConvFuncOptions<3>;

template <std::size_t D>
struct ConvTransposeFuncOptions {
  TANDEM_ARG(Tensor, bias) = Tensor();
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
};
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<1>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<2>;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions<3>;
}  // namespace functional

}  // namespace tandem::nn
