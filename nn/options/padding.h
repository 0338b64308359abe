// Options of padding.
#pragma once
#include "tandem/core/arg.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/enums.h"
#include "tandem/nn/expanding_array.h"

namespace tandem::nn {

/// (before, after) for the last dimension, then for the one before it.
template <std::size_t D>
struct PadOptions {
  PadOptions(ExpandingArray<2 * D> padding) : padding_(padding) {}
  TANDEM_ARG(ExpandingArray<2 * D>, padding);
};
using ReflectionPad1dOptions = PadOptions<1>;
using ReflectionPad2dOptions = PadOptions<2>;
using ReplicationPad1dOptions = PadOptions<1>;
using ReplicationPad2dOptions = PadOptions<2>;
using ZeroPad1dOptions = PadOptions<1>;
using ZeroPad2dOptions = PadOptions<2>;

template <std::size_t D>
struct ConstantPadOptions {
  ConstantPadOptions(ExpandingArray<2 * D> padding, double value) : padding_(padding), value_(value) {}
  TANDEM_ARG(ExpandingArray<2 * D>, padding);
  TANDEM_ARG(double, value);
};
using ConstantPad1dOptions = ConstantPadOptions<1>;
using ConstantPad2dOptions = ConstantPadOptions<2>;

namespace functional {
struct PadFuncOptions {
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  PadFuncOptions(std::initializer_list<int64_t> pad) : pad_(pad) {}
  TANDEM_ARG(std::vector<int64_t>, pad);
  /// kConstant, kReflect, kReplicate or kCircular.
  TANDEM_ARG(PaddingMode, mode) = kConstant;
  TANDEM_ARG(double, value) = 0;
};
}  // namespace functional

}  // namespace tandem::nn
