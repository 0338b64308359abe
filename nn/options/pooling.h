// Options of pooling.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/options.h"
#include "tandem/nn/expanding_array.h"

namespace tandem::nn {

struct AvgPool2dOptions {
  AvgPool2dOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<2>, kernel_size);
  /// Defaults to kernel_size.
  TANDEM_ARG(ExpandingArray<2>, stride);
  TANDEM_ARG(ExpandingArray<2>, padding) = 0;
  TANDEM_ARG(bool, ceil_mode) = false;
  TANDEM_ARG(bool, count_include_pad) = true;
  TANDEM_ARG(optional<int64_t>, divisor_override) = nullopt;
};

struct MaxPool2dOptions {
  MaxPool2dOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<2>, kernel_size);
  /// Defaults to kernel_size.
  TANDEM_ARG(ExpandingArray<2>, stride);
  TANDEM_ARG(ExpandingArray<2>, padding) = 0;
  TANDEM_ARG(ExpandingArray<2>, dilation) = 1;
  TANDEM_ARG(bool, ceil_mode) = false;
};

struct AdaptiveAvgPool2dOptions {
  AdaptiveAvgPool2dOptions(ExpandingArrayWithOptionalElem<2> output_size) : output_size_(output_size) {}
  /// An omitted element keeps the input's size.
  TANDEM_ARG(ExpandingArrayWithOptionalElem<2>, output_size);
};

struct AdaptiveMaxPool2dOptions {
  AdaptiveMaxPool2dOptions(ExpandingArrayWithOptionalElem<2> output_size) : output_size_(output_size) {}
  TANDEM_ARG(ExpandingArrayWithOptionalElem<2>, output_size);
};
struct AvgPool1dOptions {
  AvgPool1dOptions(ExpandingArray<1> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<1>, kernel_size);
  TANDEM_ARG(ExpandingArray<1>, stride);
  TANDEM_ARG(ExpandingArray<1>, padding) = 0;
  TANDEM_ARG(bool, ceil_mode) = false;
  TANDEM_ARG(bool, count_include_pad) = true;
};
struct MaxPool1dOptions {
  MaxPool1dOptions(ExpandingArray<1> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<1>, kernel_size);
  TANDEM_ARG(ExpandingArray<1>, stride);
  TANDEM_ARG(ExpandingArray<1>, padding) = 0;
  TANDEM_ARG(ExpandingArray<1>, dilation) = 1;
  TANDEM_ARG(bool, ceil_mode) = false;
};
struct AdaptiveAvgPool1dOptions {
  AdaptiveAvgPool1dOptions(ExpandingArray<1> output_size) : output_size_(output_size) {}
  TANDEM_ARG(ExpandingArray<1>, output_size);
};
struct AdaptiveMaxPool1dOptions {
  AdaptiveMaxPool1dOptions(ExpandingArray<1> output_size) : output_size_(output_size) {}
  TANDEM_ARG(ExpandingArray<1>, output_size);
};

namespace functional {
using AdaptiveMaxPool2dFuncOptions = AdaptiveMaxPool2dOptions;
using AvgPool1dFuncOptions = AvgPool1dOptions;
using MaxPool1dFuncOptions = MaxPool1dOptions;
using AdaptiveAvgPool1dFuncOptions = AdaptiveAvgPool1dOptions;
using AdaptiveMaxPool1dFuncOptions = AdaptiveMaxPool1dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using MaxPool2dFuncOptions = MaxPool2dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;
}  // namespace functional

}  // namespace tandem::nn
