// Padding layers.
#include "tandem/nn/layers/padding.h"

#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/nn/layers/print.h"

namespace tandem::nn {

#define PAD(Name, mode)                                                                                    \
  Tensor Name##Impl::forward(const Tensor& input) { return tandem::pad(input, *options.padding(), mode); } \
  TANDEM_PRINTED_AS(Name, "padding=", concat(options.padding()))
PAD(ReflectionPad1d, "reflect")
PAD(ReflectionPad2d, "reflect")
PAD(ReflectionPad3d, "reflect")
PAD(ReplicationPad1d, "replicate")
PAD(ReplicationPad2d, "replicate")
PAD(ReplicationPad3d, "replicate")
PAD(ZeroPad1d, "constant")
PAD(ZeroPad2d, "constant")
PAD(ZeroPad3d, "constant")

#define CONSTANT_PAD(Name)                                              \
  Tensor Name##Impl::forward(const Tensor& input) {                     \
    return constant_pad_nd(input, *options.padding(), options.value()); \
  }                                                                     \
  TANDEM_PRINTED_AS(Name, "padding=", concat(options.padding()), ", value=", options.value())
CONSTANT_PAD(ConstantPad1d)
CONSTANT_PAD(ConstantPad2d)
CONSTANT_PAD(ConstantPad3d)

}  // namespace tandem::nn
