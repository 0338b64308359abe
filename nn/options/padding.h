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
template <std::size_t D>
using ReflectionPadOptions = PadOptions<D>;
using ReflectionPad1dOptions = ReflectionPadOptions<1>;
using ReflectionPad2dOptions = ReflectionPadOptions<2>;
using ReflectionPad3dOptions = ReflectionPadOptions<3>;
template <std::size_t D>
using ReplicationPadOptions = PadOptions<D>;
using ReplicationPad1dOptions = ReplicationPadOptions<1>;
using ReplicationPad2dOptions = ReplicationPadOptions<2>;
using ReplicationPad3dOptions = ReplicationPadOptions<3>;
template <std::size_t D>
using ZeroPadOptions = PadOptions<D>;
using ZeroPad1dOptions = ZeroPadOptions<1>;
using ZeroPad2dOptions = ZeroPadOptions<2>;
using ZeroPad3dOptions = ZeroPadOptions<3>;

template <std::size_t D>
struct ConstantPadOptions {
  ConstantPadOptions(ExpandingArray<2 * D> padding, double value) : padding_(padding), value_(value) {}
  TANDEM_ARG(ExpandingArray<2 * D>, padding);
  TANDEM_ARG(double, value);
};
using ConstantPad1dOptions = ConstantPadOptions<1>;
using ConstantPad2dOptions = ConstantPadOptions<2>;
using ConstantPad3dOptions = ConstantPadOptions<3>;

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
