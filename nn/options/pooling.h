// Options of pooling.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/expanding_array.h"

namespace tandem::nn {

template <std::size_t D>
struct AvgPoolOptions {
  AvgPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  /// Defaults to kernel_size.
  TANDEM_ARG(ExpandingArray<D>, stride);
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  TANDEM_ARG(bool, ceil_mode) = false;
  TANDEM_ARG(bool, count_include_pad) = true;
  /// AvgPool1d ignores it.
  TANDEM_ARG(optional<int64_t>, divisor_override) = nullopt;
};
using AvgPool1dOptions = AvgPoolOptions<1>;
using AvgPool2dOptions = AvgPoolOptions<2>;
using AvgPool3dOptions = AvgPoolOptions<3>;

template <std::size_t D>
struct MaxPoolOptions {
  MaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  /// Defaults to kernel_size.
  TANDEM_ARG(ExpandingArray<D>, stride);
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(bool, ceil_mode) = false;
};
using MaxPool1dOptions = MaxPoolOptions<1>;
using MaxPool2dOptions = MaxPoolOptions<2>;
using MaxPool3dOptions = MaxPoolOptions<3>;

/// An omitted element of an ExpandingArrayWithOptionalElem keeps the input's size.
template <class OutputSize>
struct AdaptiveMaxPoolOptions {
  AdaptiveMaxPoolOptions(OutputSize output_size) : output_size_(output_size) {}
  TANDEM_ARG(OutputSize, output_size);
};
using AdaptiveMaxPool1dOptions = AdaptiveMaxPoolOptions<ExpandingArray<1>>;
using AdaptiveMaxPool2dOptions = AdaptiveMaxPoolOptions<ExpandingArrayWithOptionalElem<2>>;
using AdaptiveMaxPool3dOptions = AdaptiveMaxPoolOptions<ExpandingArrayWithOptionalElem<3>>;

template <class OutputSize>
struct AdaptiveAvgPoolOptions {
  AdaptiveAvgPoolOptions(OutputSize output_size) : output_size_(output_size) {}
  TANDEM_ARG(OutputSize, output_size);
};
using AdaptiveAvgPool1dOptions = AdaptiveAvgPoolOptions<ExpandingArray<1>>;
using AdaptiveAvgPool2dOptions = AdaptiveAvgPoolOptions<ExpandingArrayWithOptionalElem<2>>;
using AdaptiveAvgPool3dOptions = AdaptiveAvgPoolOptions<ExpandingArrayWithOptionalElem<3>>;

template <std::size_t D>
struct MaxUnpoolOptions {
  MaxUnpoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  /// Defaults to kernel_size.
  TANDEM_ARG(ExpandingArray<D>, stride);
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
};
using MaxUnpool1dOptions = MaxUnpoolOptions<1>;
using MaxUnpool2dOptions = MaxUnpoolOptions<2>;
using MaxUnpool3dOptions = MaxUnpoolOptions<3>;

/// Exactly one of output_size and output_ratio must be set.
template <std::size_t D>
struct FractionalMaxPoolOptions {
  FractionalMaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(optional<ExpandingArray<D>>, output_size) = nullopt;
  using ExpandingArrayDouble = ExpandingArray<D, double>;
  /// Output size over input size, between 0 and 1.
  TANDEM_ARG(optional<ExpandingArrayDouble>, output_ratio) = nullopt;
  /// [N, C, D] in [0, 1); drawn for every call if undefined.
  TANDEM_ARG(Tensor, _random_samples) = Tensor();
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions<2>;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions<3>;

template <std::size_t D>
struct LPPoolOptions {
  LPPoolOptions(double norm_type, ExpandingArray<D> kernel_size)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(double, norm_type);
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  /// Defaults to kernel_size.
  TANDEM_ARG(ExpandingArray<D>, stride);
  TANDEM_ARG(bool, ceil_mode) = false;
};
using LPPool1dOptions = LPPoolOptions<1>;
using LPPool2dOptions = LPPoolOptions<2>;
using LPPool3dOptions = LPPoolOptions<3>;

namespace functional {
using AvgPool1dFuncOptions = AvgPool1dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AvgPool3dFuncOptions = AvgPool3dOptions;
using MaxPool1dFuncOptions = MaxPool1dOptions;
using MaxPool2dFuncOptions = MaxPool2dOptions;
using MaxPool3dFuncOptions = MaxPool3dOptions;
using AdaptiveMaxPool1dFuncOptions = AdaptiveMaxPool1dOptions;
using AdaptiveMaxPool2dFuncOptions = AdaptiveMaxPool2dOptions;
using AdaptiveMaxPool3dFuncOptions = AdaptiveMaxPool3dOptions;
using AdaptiveAvgPool1dFuncOptions = AdaptiveAvgPool1dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;
using AdaptiveAvgPool3dFuncOptions = AdaptiveAvgPool3dOptions;
using FractionalMaxPool2dFuncOptions = FractionalMaxPool2dOptions;
using FractionalMaxPool3dFuncOptions = FractionalMaxPool3dOptions;
using LPPool1dFuncOptions = LPPool1dOptions;
using LPPool2dFuncOptions = LPPool2dOptions;
using LPPool3dFuncOptions = LPPool3dOptions;

template <std::size_t D>
struct MaxUnpoolFuncOptions {
  MaxUnpoolFuncOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  /// Defaults to kernel_size.
  TANDEM_ARG(ExpandingArray<D>, stride);
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  /// The last D sizes, or all; by default the smallest that the pooling can have had.
  TANDEM_ARG(optional<std::vector<int64_t>>, output_size) = nullopt;
};
using MaxUnpool1dFuncOptions = MaxUnpoolFuncOptions<1>;
using MaxUnpool2dFuncOptions = MaxUnpoolFuncOptions<2>;
using MaxUnpool3dFuncOptions = MaxUnpoolFuncOptions<3>;
}  // namespace functional

}  // namespace tandem::nn
