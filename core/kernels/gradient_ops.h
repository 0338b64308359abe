// Fused gradients of one-argument functions: g times the derivative, from what the forward saved (its input
// or its output). `p` and `q` are the forward's parameters.
#pragma once
#include "tandem/core/host_device.h"
#include "tandem/core/kernels/kernel.h"

namespace tandem::ops {

/// From the output, or the input.
struct ReluBackward {
  static constexpr const char* name = "relu_backward";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T g, T y) {
    return y > T(0) ? g : T(0);
  }
};

}  // namespace tandem::ops

namespace tandem {
using GradientOps = TypeList<ops::ReluBackward>;
}  // namespace tandem
